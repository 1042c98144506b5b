// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/accel.h"

#include "kasimir/base/outcome.h"
#include "kasimir/network/plan.h"
#include "kasimir/study/record.h"

#include <string>

namespace kasimir {

/// The accelerator that a search is for (`--accelerator`): what networks take on it, each nest by its best mapping.
struct AcceleratorSpec {
  std::string name;  ///< a preset or a TOML file; empty: none
  std::string objective = "edp";
  std::string bits = "8,8,8,32";
};

class AcceleratorTarget {
 public:
  /// @throws Error (input) for what it does not know; Error (unsolved) where the original does not fit.
  AcceleratorTarget(const AcceleratorSpec& spec, const NetworkPlan& original);

  [[nodiscard]] const study::AcceleratorCost& original() const { return original_; }
  /// Of one image, within half a per cent of the best mappings; rejected where some nest has none. Equal for equal
  /// plans.
  [[nodiscard]] Outcome<study::AcceleratorCost> cost(const NetworkPlan& plan) const;

 private:
  std::string arch_;
  Objective objective_;
  OperandBits bits_;
  study::AcceleratorCost original_;
};

}  // namespace kasimir
