// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

#include <algorithm>

namespace kasimir {

std::vector<Coord> pass(Draft& draft, const Shape& shape) { return pass_or_reduce(draft, shape, {}); }

std::vector<Coord> pass_or_reduce(Draft& draft, const Shape& shape, AxisSet reduced) {
  std::vector<Coord> at{draft.batch()};
  for (const Axis& axis : shape)
    at.push_back(reduced.has(axis.kind) ? draft.reduced(axis.kind, axis.extent) : draft.left(axis.kind, axis.extent));
  return at;
}

Shape without(const Shape& shape, AxisSet removed) {
  Shape rest;
  std::ranges::copy_if(shape, std::back_inserter(rest), [&](const Axis& axis) { return !removed.has(axis.kind); });
  return rest;
}

Rejection needs_axis(AxisKind kind, const Shape& shape) {
  return {fmt::format("the operand has a {} axis", axis_word(kind)), str(shape)};
}

void emit_softmax(StageBuilder& build, int tensor, const Shape& shape, AxisSet axes) {
  const Shape kept = without(shape, axes);
  const auto reduced_read = [&](Draft& draft) { return draft.read(tensor, pass_or_reduce(draft, shape, axes)); };
  const auto at_kept = [&](const std::vector<Coord>& at) {
    std::vector<Coord> some{at[0]};
    for (std::size_t i = 0; i < shape.size(); ++i)
      if (!axes.has(shape[i].kind)) some.push_back(at[i + 1]);
    return some;
  };

  Draft largest = build.draft();
  largest.mark_stabiliser();
  const Expr read = reduced_read(largest);
  const int m = largest.emit(read, Reduce::max);

  Draft power = build.draft();
  const auto at = pass(power, shape);
  const Expr value = power.read(tensor, at);
  const Expr top = power.read(m, at_kept(at));
  const int e = power.emit(power.apply(Fn::exp, power.apply(Fn::sub, value, top)));

  Draft total = build.draft();
  const auto over = pass_or_reduce(total, shape, axes);
  const int z = total.emit(total.read(e, over), Reduce::sum);

  Draft quotient = build.draft();
  const auto in = pass(quotient, shape);
  const Expr upper = quotient.read(e, in);
  const Expr lower = quotient.read(z, at_kept(in));
  quotient.emit(quotient.apply(Fn::div, upper, lower));
}

Outcome<Shape> same_shape(const Call& call) { return call.shape(); }
Outcome<Draw> propose_nothing(Proposer& /*proposer*/) { return Draw{}; }

AxisSet draw_weighted_axes(Proposer& proposer) {
  AxisSet allowed{channel, group, window_h, window_w};
  if (proposer.weights_may_depend_on_resolution) allowed = AxisSet{channel, group, window_h, window_w, height, width};
  return draw_axes(proposer, allowed, 2);
}

AxisSet draw_axes(Proposer& proposer, AxisSet allowed, std::size_t most) {
  std::vector<AxisKind> kinds;
  for (const Axis& axis : proposer.shape())
    if (allowed.has(axis.kind)) kinds.push_back(axis.kind);
  AxisSet chosen;
  if (kinds.empty()) return chosen;
  // Height and width most often go together: what is done to one of them only is rarely wanted.
  const bool both = std::ranges::count_if(kinds, is_spatial) == 2 || std::ranges::count_if(kinds, is_window) == 2;
  const AxisKind first = proposer.rng.pick(kinds);
  chosen.add(first);
  if (most >= 2 && both && proposer.rng.chance(0.7)) {
    for (AxisKind kind : kinds)
      if ((is_spatial(first) && is_spatial(kind)) || (is_window(first) && is_window(kind))) chosen.add(kind);
  }
  return chosen;
}

std::int64_t centre(std::int64_t window, std::int64_t dilation) { return dilation * (window - 1) / 2; }

Numbers one_or_two(int a, int b) {
  Numbers numbers;
  numbers.value = {static_cast<std::int16_t>(a), static_cast<std::int16_t>(a == b ? 0 : b)};
  numbers.count = a == b ? 1 : 2;
  return numbers;
}

Outcome<Shape> without_stride(const Call& call) {
  Shape y = call.shape();
  bool any = false;
  for (Axis& axis : y) {
    if (!is_spatial(axis.kind) || !has_stride(axis.extent)) continue;
    axis.extent /= Size(Symbol::s);
    any = true;
  }
  if (!any) return Rejection{"the operand still has the site's stride", str(call.shape())};
  return y;
}

bool has_stride(const Size& extent) { return extent.power(Symbol::s) > 0; }

bool any_stride(const SiteSet& sites) {
  return std::ranges::any_of(sites.sites(), [](const Site& site) { return site.s > 1; });
}

std::optional<Substitution> solve_equal(const Size& a, const Size& b, const SiteSet& sites) {
  const Size ratio = a / b;
  for (int i = 0; i < free_symbol_count; ++i) {
    const Symbol symbol = free_symbol(i);
    const int power = ratio.power(symbol);
    if (power != 1 && power != -1) continue;
    const Size rest = ratio / Size(symbol, power);
    const Size value = power == 1 ? Size(1) / rest : rest;
    if (sites.whole(value)) return Substitution{symbol, value};
  }
  return std::nullopt;
}

}  // namespace kasimir
