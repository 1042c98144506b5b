// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/flat_kernel.h"

namespace kasimir {

/// What may be done to a kernel without changing what it can compute.
enum class Rewrite : std::uint8_t {
  // Exact: the same function with the same weights.
  same_step,
  nothing_done,
  undone,
  repeated,
  sign_twice,
  nonnegative_already,
  magnitude_only,
  sign_after_odd,
  views_in_order,
  folds_in_order,
  step_before_view,
  step_after_thinning,
  permutation_before_fold,
  // Of families: the same set of functions, as the weights take all values.
  scale_before_weights,
  scale_after_weights,
  scale_before_permutation,
  factor_before_weights,
  permutation_before_weights,
  permutation_after_weights,
  wide_dense_pair,
  sum_of_twins,
  // Never rewritten, but a waste of a step while growing.
  normalised_scale,
  sum_of_shares
};
inline constexpr int rewrite_count = static_cast<int>(Rewrite::sum_of_shares) + 1;

enum class RewriteKind : std::uint8_t {
  exact,   ///< the same function
  family,  ///< the same functions, with other weights
  waste    ///< nearly the same functions; a reason not to grow the pair, no equality
};

/// Which rules may be applied.
struct RewriteLimits {
  bool families = true;   ///< rules of families too, not the exact ones only
  bool writable = false;  ///< only what leaves every step legal with the arguments that it had
};

struct RewriteRule {
  std::string_view name;
  RewriteKind kind;
  std::string_view brief;
};
const RewriteRule& rewrite_rule(Rewrite rewrite);

using RewriteCounts = std::array<std::int64_t, rewrite_count>;

/// Applies one rule after the other until none fits. Nodes keep an order in which operands come before their readers,
/// and which rule comes next depends on that order only.
class Rewriter {
 public:
  Rewriter(StepTable& steps, FlatKernel& kernel, RewriteLimits limits)
      : steps_(&steps), kernel_(&kernel), limits_(limits) {}

  /// Applies and counts them.
  void run(RewriteCounts& counts);

 private:
  [[nodiscard]] const StepFacts& facts(int node) const { return (*steps_)[(*kernel_)[node].step]; }
  [[nodiscard]] bool is_input(int node) const { return (*kernel_)[node].step == FlatNode::input; }
  [[nodiscard]] bool only_reader(int node, int reader) const;
  [[nodiscard]] AxisMask absorbs_in(int node) const;
  [[nodiscard]] AxisMask absorbs_out(int node) const;
  template <typename Holds>
  [[nodiscard]] bool all_readers(int node, Holds holds) const;

  void look();
  void replace(int node, int by);
  void swap_steps(int node, int operand);

  bool merge_twins(RewriteCounts& counts);
  bool run_once(RewriteCounts& counts);
  std::optional<Rewrite> at(int node);
  std::optional<Rewrite> twin_of_earlier(int node);
  std::optional<Rewrite> twins_added(int node);
  std::optional<Rewrite> drop(int node, int operand);
  std::optional<Rewrite> reorder(int node, int operand);
  std::optional<Rewrite> drop_after_weights(int node, int operand);
  std::optional<Rewrite> drop_before_readers(int node);
  std::optional<Rewrite> permutation_before_readers(int node);
  std::optional<Rewrite> merge_dense(int node, int operand);

  StepTable* steps_;
  FlatKernel* kernel_;
  RewriteLimits limits_;
  std::array<std::uint64_t, FlatKernel::most_nodes> readers_{};  ///< as bits; 63 is who takes the output
  std::uint64_t needed_ = 0;                                     ///< nodes that the output depends on
  std::uint64_t nonnegative_ = 0;                                ///< nodes
};

/// Why the pair of steps wastes one of them or is in the wrong order, if nothing else reads what the first makes.
std::optional<Rewrite> pair_waste(StepTable& steps, StepId producer, StepId consumer);

}  // namespace kasimir
