// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/rewrite.h"

#include <algorithm>
#include <bit>

namespace kasimir {
namespace {

using enum Trait;

constexpr unsigned output_reader = 63;

constexpr std::array<RewriteRule, rewrite_count> rules{
    {{"same step", RewriteKind::exact, "two equal steps without weights on the same operands are one"},
     {"nothing done", RewriteKind::exact, "a view that moves nothing at any site is dropped"},
     {"undone", RewriteKind::exact, "a view and the view that takes it back are dropped"},
     {"repeated", RewriteKind::exact, "f(f(x)) is f(x) for an idempotent f"},
     {"sign twice", RewriteKind::exact, "-(-x) is x"},
     {"nonnegative already", RewriteKind::exact,
      "what is the identity above zero is dropped after what is never below"},
     {"magnitude only", RewriteKind::exact, "an even function reads past a step that keeps the magnitude"},
     {"sign after odd", RewriteKind::exact, "f(-x) is written -f(x) for an odd f"},
     {"views in order", RewriteKind::exact, "views of different axes: rows and columns first, then channels"},
     {"folds in order", RewriteKind::exact, "sums of sums and maxima of maxima: in a fixed order of their axes"},
     {"step before view", RewriteKind::exact, "what works on other axes, or on each element, goes before a view"},
     {"step after thinning", RewriteKind::exact, "the same goes after a view that leaves elements out"},
     {"permutation before fold", RewriteKind::exact, "an order of elements that are all folded does not matter"},
     {"scale before weights", RewriteKind::family, "a factor or sign goes into the weights of all its readers"},
     {"scale after weights", RewriteKind::family, "a factor or sign goes into the weights of the step before"},
     {"scale before permutation", RewriteKind::family, "a factor along permuted axes goes before the permutation"},
     {"factor before weights", RewriteKind::family, "a mean is a sum where all readers' weights take a factor"},
     {"permutation before weights", RewriteKind::family, "an order of elements that are all weighted does not matter"},
     {"permutation after weights", RewriteKind::family, "nor does the order in which weights give their results"},
     {"wide dense pair", RewriteKind::family, "two matrices with nothing narrow between them are one"},
     {"sum of twins", RewriteKind::family, "the sum of two weighted steps that differ in their weights only is one"},
     {"normalised scale", RewriteKind::waste, "a statistic takes a factor, or another normalisation, away again"},
     {"sum of shares", RewriteKind::waste, "what sums to one is summed"}}};

constexpr std::uint64_t bit(int node) { return std::uint64_t{1} << static_cast<unsigned>(node); }

/// The order of views that commute, and of folds: rows and columns before channels, as growth mostly draws them.
bool comes_first(const StepFacts& a, const StepFacts& b) {
  if (std::bit_width(a.touched()) != std::bit_width(b.touched()))
    return std::bit_width(a.touched()) > std::bit_width(b.touched());
  return a.form.hash < b.form.hash;
}

bool apart(const StepFacts& a, const StepFacts& b) { return (a.touched() & b.touched()) == 0; }

/// Steps that may change places with a view of other axes: without a cost that depends on where they stand.
bool moves(const StepFacts& facts) {
  return facts.operands == 1 && !facts.is(view) && !facts.is(statistics) && (!facts.is(weighted) || facts.is(scaling));
}

/// The step does the same before and after the view.
bool passes(const StepFacts& step, const StepFacts& through) {
  return moves(step) && apart(step, through) && (!through.is(fills_zeros) || step.is(zero_to_zero));
}

}  // namespace

const RewriteRule& rewrite_rule(Rewrite rewrite) { return rules[static_cast<std::size_t>(rewrite)]; }

bool Rewriter::only_reader(int node, int reader) const {
  return readers_[static_cast<std::size_t>(node)] == bit(reader);
}

AxisMask Rewriter::absorbs_in(int node) const {
  return static_cast<AxisMask>((facts(node).absorbs_in & ~facts(node).free_in) | (*kernel_)[node].free_in);
}

AxisMask Rewriter::absorbs_out(int node) const {
  return static_cast<AxisMask>((facts(node).absorbs_out & ~facts(node).free_out) | (*kernel_)[node].free_out);
}

template <typename Holds>
bool Rewriter::all_readers(int node, Holds holds) const {
  std::uint64_t left = readers_[static_cast<std::size_t>(node)];
  if (left == 0 || (left & bit(output_reader)) != 0) return false;
  for (; left != 0; left &= left - 1) {
    const int reader = std::countr_zero(left);
    if (facts(reader).operands != 1 || !holds(reader)) return false;
  }
  return true;
}

void Rewriter::look() {
  const FlatKernel& kernel = *kernel_;
  for (int i = 0; i < kernel.count; ++i) readers_[static_cast<std::size_t>(i)] = 0;
  readers_[static_cast<std::size_t>(kernel.output)] = bit(output_reader);
  needed_ = bit(kernel.output);
  for (int i = kernel.count; i-- > 0;) {
    if ((needed_ & bit(i)) == 0) continue;
    for (const std::int16_t operand : kernel[i].operands) {
      if (operand < 0) continue;
      readers_[static_cast<std::size_t>(operand)] |= bit(i);
      needed_ |= bit(operand);
    }
  }
  nonnegative_ = 0;
  for (int i = 0; i < kernel.count; ++i) {
    if (is_input(i)) continue;
    bool operands = true;
    for (const std::int16_t operand : kernel[i].operands)
      operands = operands && (operand < 0 || (nonnegative_ & bit(operand)) != 0);
    if (facts(i).is(nonnegative) || (operands && facts(i).is(keeps_nonnegative))) nonnegative_ |= bit(i);
  }
}

void Rewriter::replace(int node, int by) {
  for (int i = node + 1; i < kernel_->count; ++i)
    for (std::int16_t& operand : (*kernel_)[i].operands)
      if (operand == node) operand = static_cast<std::int16_t>(by);
  if (kernel_->output == node) kernel_->output = by;
}

/// The two change places; both read one operand, and nothing else reads the first.
void Rewriter::swap_steps(int node, int operand) {
  FlatNode& upper = (*kernel_)[node];
  FlatNode& lower = (*kernel_)[operand];
  std::swap(upper, lower);
  std::swap(upper.operands, lower.operands);
}

std::optional<Rewrite> Rewriter::twin_of_earlier(int node) {
  const FlatNode& here = (*kernel_)[node];
  if (facts(node).is(weighted)) return std::nullopt;
  for (int i = 0; i < node; ++i) {
    const FlatNode& there = (*kernel_)[i];
    if (there.step != here.step || there.free_in != here.free_in || there.factorless != here.factorless) continue;
    const auto [a, b] = there.operands;
    const bool same = there.operands == here.operands;
    const bool exchanged = facts(node).is(commutative) && here.operands == std::array<std::int16_t, 2>{b, a};
    if ((needed_ & bit(i)) == 0 || !(same || exchanged)) continue;
    replace(node, i);
    return Rewrite::same_step;
  }
  return std::nullopt;
}

std::optional<Rewrite> Rewriter::twins_added(int node) {
  const auto [p, q] = (*kernel_)[node].operands;
  if (!facts(node).is(aligned) || !facts(node).is(linear) || p == q || is_input(p) || is_input(q)) return std::nullopt;
  const FlatNode& a = (*kernel_)[p];
  const FlatNode& b = (*kernel_)[q];
  const bool same = a.step == b.step && a.operands == b.operands && a.free_in == b.free_in && a.out_from == b.out_from;
  if (!same || !(facts(p).is(dense) || facts(p).is(scaling))) return std::nullopt;
  if (!only_reader(p, node) || !only_reader(q, node)) return std::nullopt;
  replace(node, std::min(p, q));
  return Rewrite::sum_of_twins;
}

std::optional<Rewrite> Rewriter::drop(int node, int operand) {
  const StepFacts& f = facts(node);
  if (f.is(nothing)) {
    replace(node, operand);
    return Rewrite::nothing_done;
  }
  const bool unary = !is_input(operand) && facts(operand).operands == 1;
  if (unary && f.is(idempotent) && (*kernel_)[node].step == (*kernel_)[operand].step) {
    replace(node, operand);
    return Rewrite::repeated;
  }
  if (f.is(identity_on_nonnegative) && (nonnegative_ & bit(operand)) != 0) {
    replace(node, operand);
    return Rewrite::nonnegative_already;
  }
  if (!unary) return std::nullopt;
  const StepFacts& before = facts(operand);
  const std::int16_t source = (*kernel_)[operand].operands[0];
  if (f.is(sign) && before.is(sign)) {
    replace(node, source);
    return Rewrite::sign_twice;
  }
  if (f.is(even) && before.is(keeps_magnitude)) {
    (*kernel_)[node].operands[0] = source;
    return Rewrite::magnitude_only;
  }
  if (f.is(view) && before.is(view) && steps_->undoes((*kernel_)[operand].step, (*kernel_)[node].step)) {
    replace(node, source);
    return Rewrite::undone;
  }
  return std::nullopt;
}

std::optional<Rewrite> Rewriter::reorder(int node, int operand) {
  if (is_input(operand) || facts(operand).operands != 1 || !only_reader(operand, node)) return std::nullopt;
  const StepFacts& f = facts(node);
  const StepFacts& before = facts(operand);
  const auto swapped = [&](Rewrite rewrite) {
    swap_steps(node, operand);
    return rewrite;
  };
  if (f.is(odd) && !f.is(sign) && before.is(sign)) return swapped(Rewrite::sign_after_odd);
  if (before.is(view)) {
    if (f.is(view) && apart(f, before) && comes_first(f, before)) return swapped(Rewrite::views_in_order);
    if (!before.is(shrinks) && passes(f, before)) return swapped(Rewrite::step_before_view);
    if (limits_.families && f.is(scaling) && before.is(keeps_shape) && (before.touched() & ~f.scaled) == 0)
      return swapped(Rewrite::scale_before_permutation);
  } else if (f.is(view) && f.is(shrinks) && passes(before, f)) {
    return swapped(Rewrite::step_after_thinning);
  }
  if (f.is(fold) && before.is(fold) && f.reduce == before.reduce && apart(f, before) && comes_first(f, before))
    return swapped(Rewrite::folds_in_order);
  return std::nullopt;
}

std::optional<Rewrite> Rewriter::drop_after_weights(int node, int operand) {
  if (is_input(operand) || !only_reader(operand, node)) return std::nullopt;
  const StepFacts& f = facts(node);
  const StepFacts& before = facts(operand);
  if ((f.is(scaling) || f.is(sign)) && before.is(absorbs_after) && (f.scaled & ~absorbs_out(operand)) == 0) {
    replace(node, operand);
    return Rewrite::scale_after_weights;
  }
  if (f.is(keeps_shape) && before.is(dense) && (f.touched() & ~(*kernel_)[operand].free_out) == 0) {
    replace(node, operand);
    return Rewrite::permutation_after_weights;
  }
  return std::nullopt;
}

std::optional<Rewrite> Rewriter::drop_before_readers(int node) {
  const StepFacts& f = facts(node);
  FlatNode& here = (*kernel_)[node];
  if ((f.is(scaling) || f.is(sign)) && all_readers(node, [&](int reader) {
        return facts(reader).is(absorbs_before) && (f.scaled & ~absorbs_in(reader)) == 0;
      })) {
    replace(node, here.operands[0]);
    return Rewrite::scale_before_weights;
  }
  if (f.is(has_factor) && !here.factorless &&
      all_readers(node, [&](int reader) { return facts(reader).is(absorbs_before); })) {
    here.factorless = true;
    return Rewrite::factor_before_weights;
  }
  return std::nullopt;
}

std::optional<Rewrite> Rewriter::permutation_before_readers(int node) {
  const StepFacts& f = facts(node);
  if (!f.is(permutation) || (limits_.writable && f.in != f.out)) return std::nullopt;
  if (!all_readers(node, [&](int reader) {
        return (f.out & ~(*kernel_)[reader].free_in) == 0 && (limits_.families || facts(reader).is(fold));
      }))
    return std::nullopt;
  bool weights = false;
  for (std::uint64_t left = readers_[static_cast<std::size_t>(node)]; left != 0; left &= left - 1) {
    FlatNode& reader = (*kernel_)[std::countr_zero(left)];
    reader.free_in = static_cast<AxisMask>((reader.free_in & ~f.out) | f.in);
    weights = weights || facts(std::countr_zero(left)).is(dense);
  }
  replace(node, (*kernel_)[node].operands[0]);
  return weights ? Rewrite::permutation_before_weights : Rewrite::permutation_before_fold;
}

/// Two matrices are any matrix if what is between them is as wide as what goes in, for the first one may then be the
/// identity, or as wide as what comes out.
std::optional<Rewrite> Rewriter::merge_dense(int node, int operand) {
  if (is_input(operand) || !only_reader(operand, node)) return std::nullopt;
  FlatNode& upper = (*kernel_)[node];
  FlatNode& lower = (*kernel_)[operand];
  const StepFacts& f = facts(node);
  const StepFacts& before = facts(operand);
  if (!f.is(dense) || !before.is(dense)) return std::nullopt;
  if (lower.free_out == 0 || (lower.free_out & ~upper.free_in) != 0) return std::nullopt;
  const bool whole = lower.free_out == upper.free_in;
  const bool narrow_end = whole && f.is(plain) && steps_->wide_as_result(lower.out_from, upper.out_from);
  const bool wide_start =
      before.is(plain) && lower.in_from >= 0 && steps_->wide_as_operand(lower.out_from, lower.in_from);
  if (before.is(plain) && (wide_start || narrow_end)) {
    if (limits_.writable && lower.free_in != lower.free_out) return std::nullopt;
    upper.free_in = static_cast<AxisMask>((upper.free_in & ~lower.free_out) | lower.free_in);
    upper.in_from = whole ? lower.in_from : -1;
    upper.operands[0] = lower.operands[0];
    return Rewrite::wide_dense_pair;
  }
  if (!narrow_end || limits_.writable) return std::nullopt;
  lower.out_from = upper.out_from;
  lower.free_out = upper.free_out;
  replace(node, operand);
  return Rewrite::wide_dense_pair;
}

std::optional<Rewrite> Rewriter::at(int node) {
  if (facts(node).operands != 1) return limits_.families ? twins_added(node) : std::nullopt;
  const std::int16_t operand = (*kernel_)[node].operands[0];
  if (const auto done = drop(node, operand)) return done;
  if (const auto done = reorder(node, operand)) return done;
  if (const auto done = permutation_before_readers(node)) return done;
  if (!limits_.families) return std::nullopt;
  if (const auto done = drop_after_weights(node, operand)) return done;
  if (const auto done = drop_before_readers(node)) return done;
  return merge_dense(node, operand);
}

/// Twins first: other rules ask whether a tensor has a single reader, which twins would hide.
bool Rewriter::merge_twins(RewriteCounts& counts) {
  bool changed = false;
  for (int node = 0; node < kernel_->count; ++node) {
    if ((needed_ & bit(node)) == 0 || is_input(node)) continue;
    const auto done = twin_of_earlier(node);
    if (!done) continue;
    ++counts[static_cast<std::size_t>(*done)];
    look();
    changed = true;
  }
  return changed;
}

bool Rewriter::run_once(RewriteCounts& counts) {
  bool changed = merge_twins(counts);
  for (int node = 0; node < kernel_->count; ++node) {
    while ((needed_ & bit(node)) != 0 && !is_input(node)) {
      const auto done = at(node);
      if (!done) break;
      ++counts[static_cast<std::size_t>(*done)];
      look();
      changed = true;
    }
  }
  return changed;
}

void Rewriter::run(RewriteCounts& counts) {
  look();
  // Each rule drops a node or brings two into an order, so that an end comes; the limit is for a table that is wrong.
  constexpr int most = 4 * FlatKernel::most_nodes;
  for (int i = 0; i < most; ++i)
    if (!run_once(counts)) return;
  KASIMIR_CHECK(false, "rewriting a kernel of {} nodes finds no end", kernel_->count);
}

std::optional<Rewrite> pair_waste(StepTable& steps, StepId producer, StepId consumer) {
  const StepFacts& p = steps[producer];
  const StepFacts& c = steps[consumer];
  if (c.operands != 1) return std::nullopt;
  FlatKernel pair;
  const auto other = p.operands == 1 ? std::int16_t{-1} : static_cast<std::int16_t>(pair.add_input());
  const int first = pair.add(steps, producer, {0, other}, 0);
  pair.output = pair.add(steps, consumer, {static_cast<std::int16_t>(first), -1}, 1);
  RewriteCounts fired{};
  Rewriter(steps, pair, {}).run(fired);
  // A mean before weights is as good as a sum. A map of two axes that have been joined is not written otherwise.
  fired[static_cast<std::size_t>(Rewrite::factor_before_weights)] = 0;
  if (std::popcount(p.out) < std::popcount(p.in))
    fired[static_cast<std::size_t>(Rewrite::permutation_before_weights)] = 0;
  for (int i = 0; i < rewrite_count; ++i)
    if (fired[static_cast<std::size_t>(i)] > 0) return static_cast<Rewrite>(i);
  if (c.is(statistics) && (p.is(statistics) || p.is(sign) || (p.is(scaling) && (p.scaled & ~c.absorbs_out) == 0)))
    return Rewrite::normalised_scale;
  if (p.is(sums_to_one) && c.is(fold) && c.reduce == Reduce::sum && c.touched() == p.sum_axes)
    return Rewrite::sum_of_shares;
  return std::nullopt;
}

}  // namespace kasimir
