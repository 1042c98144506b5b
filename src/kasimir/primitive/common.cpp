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

Rejection needs_axis(AxisKind kind, const Shape& shape, const SiteSet& sites) {
  return {fmt::format("the operand has a {} axis", axis_word(kind)), sites.explain([&] { return str(shape); })};
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
Outcome<std::vector<Offer>> offer_nothing(const Proposer& /*proposer*/) { return std::vector<Offer>{{}}; }

std::vector<Option> weighted_axis_sets(const Proposer& proposer) {
  AxisSet allowed{channel, group, window_h, window_w};
  if (proposer.weights_may_depend_on_resolution) allowed = AxisSet{channel, group, window_h, window_w, height, width};
  return axis_sets(proposer, allowed, 2);
}

std::vector<Option> axis_sets(const Proposer& proposer, AxisSet allowed, std::size_t most) {
  // Height and width most often go together: what is done to one of them only is rarely wanted.
  constexpr double alone = 0.3;
  constexpr double together = 1.4;
  constexpr double grouped_channels = 0.5;
  const auto here = [&](AxisKind kind) { return allowed.has(kind) && find_axis(proposer.shape(), kind) >= 0; };
  std::vector<Option> options;
  const auto add_pair = [&](AxisKind a, AxisKind b, double both, double one) {
    const bool pair = most >= 2 && here(a) && here(b);
    for (AxisKind kind : {a, b})
      if (here(kind)) options.push_back({AxisSet{kind}, pair ? one : 1.0});
    if (pair) options.push_back({AxisSet{a, b}, both});
  };
  add_pair(group, channel, grouped_channels, 1.0);
  add_pair(window_h, window_w, together, alone);
  add_pair(height, width, together, alone);
  if (here(token)) options.push_back({AxisSet{token}, 1.0});
  return options;
}

Outcome<std::vector<Offer>> offer_factors(const Proposer& proposer, std::string_view rule) {
  if (find_axis(proposer.shape(), channel) < 0) return needs_axis(channel, proposer.shape(), proposer.sites);
  auto factors = proposer.factors(extent_of(proposer.shape(), channel));
  if (factors.empty())
    return Rejection{std::string(rule), proposer.sites.explain([&] { return str(proposer.shape()); })};
  return std::vector<Offer>{{1.0, {std::move(factors)}, {}}};
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
  if (!any)
    return Rejection{"the operand still has the site's stride",
                     call.sites().explain([&] { return str(call.shape()); })};
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
