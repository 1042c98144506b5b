// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/sampling.h"
#include "kasimir/cosearch/target.h"

#include <string_view>

namespace kasimir {

/// How the cost of an accelerator enters the slopes of the choices. Loads are means over the probabilities, from the
/// full table; c = 1 means that the target is met.
enum class CostForm : std::uint8_t {
  smooth_max,  ///< c = tau log sum over parts of exp(E / (tau target)): hardware that stays between its optimisations
  duals,       ///< c = sum over parts of dual * E / target: hardware made anew under a binding budget
  sum,         ///< c = sum of E / target over parts, whatever the aggregate
  original     ///< Auto-NBA: raw logits, only the drawn path, the sum over blocks
};
std::string_view name_of(CostForm form);
/// @throws Error (input) with the nearest names.
CostForm parse_cost_form(std::string_view name);

/// Mean cost and its slopes by the logits.
struct MeanCost {
  double cost = 0;  ///< c
  ChoiceNumbers slopes;
};

/// `tau`: sharpness of the smooth maximum. Where loads add up or are multiplied, `smooth_max` and `duals` are the sum
/// or the product itself. Not for CostForm::original.
MeanCost mean_cost(CostForm form, const Accelerator& accelerator, const ChoiceNumbers& logits, double target,
                   double tau = 0.1);

/// The original's cost of a drawn path, normalised by the target: each drawn operator's and bit width's logit gets the
/// cost of its block as slope, whatever its probability.
MeanCost original_cost(const Accelerator& accelerator, const ChoiceDraw& draw, const ChoiceNumbers& logits,
                       double target);

/// Holds a target: how strongly the cost pulls, set from what was reached.
enum class Control : std::uint8_t {
  lagrangian,  ///< augmented Lagrangian on h = log c
  doubling     ///< Auto-NBA: the weight is doubled above the target, halved below a quarter of it
};

struct ControlOptions {
  Control control = Control::lagrangian;
  double rho = 1;              ///< of the Lagrangian; 0.3 to 3 are equally good on tables
  double rate = 0.1;           ///< of its multiplier
  double first_weight = 1e-3;  ///< of doubling: the release's 1e-10 per cycle at about 1e7 cycles
  double lower_band = 0.25;    ///< of doubling: the release's 400 against 100 frames per second
  bool operator==(const ControlOptions&) const = default;
};

/// The state of a control: a multiplier or a weight.
class TargetControl {
 public:
  explicit TargetControl(const ControlOptions& options);
  /// What the slopes of c are multiplied with. Lagrangian: d/dc of (max(0, mu + rho h)^2 - mu^2) / (2 rho).
  [[nodiscard]] double weight(double cost) const;
  /// After a look at the derived design. Lagrangian: mu += rate * clip(log sqrt(c * derived), -1, 1), within 0 .. 50.
  /// With the larger of both instead, the pull does not end while some choices are still open, and the search ends
  /// below its target: on the paper's space at 0.7 of it, with twice the error.
  void update(double cost, double derived);
  [[nodiscard]] double state() const { return state_; }
  void set_state(double state) { state_ = state; }

 private:
  ControlOptions options_;
  double state_;
};

}  // namespace kasimir
