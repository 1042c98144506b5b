// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/cost.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/synth/solver.h"

#include <map>

namespace kasimir {

/// What may be sampled.
struct GrowthLimits {
  int min_primitives = 3;
  int max_primitives = 12;
  int max_width = 3;               ///< tensors that are still to be read, at once
  std::vector<std::string> allow;  ///< only these primitives; empty: all
  std::vector<std::string> forbid;
  std::vector<std::string> require;  ///< each occurs at least once
  bool weights_may_depend_on_resolution = false;

  /// @throws Error (input) on an unknown primitive, with near names, or on impossible numbers.
  void check(Catalog catalog) const;
};

/// Grows one kernel step by step, legal by construction: a primitive, then its operands, then its arguments; a step is
/// taken only if every size stays whole at every site, no tensor is too large, the least possible cost stays within the
/// budget, and the output's shape can still be reached in the steps that are left.
class Growth {
 public:
  Growth(Catalog allowed, std::span<const SiteLoad> sites, const GrowthLimits& limits, const Budget& budget,
         const SolverOptions& solver, Rng rng);

  /// A kernel without values for its free symbols, or the rule that stopped the growth.
  Outcome<Kernel> run();

  /// How often each rule refused a step that was tried.
  [[nodiscard]] const std::map<std::string, std::int64_t>& refused() const { return refused_; }

 private:
  void draw_choices();
  bool grow_step(int left);
  std::optional<Rejection> try_primitive(const Primitive& primitive, int left, bool closing);
  std::optional<Rejection> consider(Step step, const std::vector<Substitution>& substitutions, int left, bool closing);
  std::vector<int> draw_operands(const Primitive& primitive, bool closing);
  [[nodiscard]] std::vector<int> open_tensors(const Kernel& kernel) const;
  [[nodiscard]] int distance(const Kernel& kernel, const std::vector<Shape>& shapes, bool careful) const;
  [[nodiscard]] int steps_to_ready(const Shape& shape, bool careful) const;
  static bool is_full(const Shape& shape);
  [[nodiscard]] bool is_output(const Shape& shape) const;
  std::optional<Rejection> too_expensive(const Kernel& kernel, const std::vector<Shape>& shapes) const;
  [[nodiscard]] std::string stuck_at(int left) const;
  [[nodiscard]] bool repeats(const Step& step) const;

  Catalog allowed_;
  std::vector<SiteLoad> loads_;
  const GrowthLimits* limits_;
  const Budget* budget_;
  const SolverOptions* solver_;
  Rng rng_;
  SiteSet sites_;
  bool any_stride_ = false;
  Kernel kernel_;
  std::vector<Shape> shapes_;
  std::vector<double> cumulative_;  ///< of the primitives' weights
  std::map<std::string, std::int64_t> refused_;
};

}  // namespace kasimir
