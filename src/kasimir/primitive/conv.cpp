// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

enum { to_param, window_param, dilation_param, groups_param, stride_param };

/// Window along an axis kind: the first number is along H, the second, or the only one, along W.
int along(const Numbers& numbers, AxisKind kind) { return numbers.value[kind == width && numbers.count == 2 ? 1 : 0]; }

bool strided(const Call& call, const Axis& axis) {
  return call.word(stride_param) == 1 && is_spatial(axis.kind) && has_stride(axis.extent);
}

/// Groups: the group axis where there is one, else the parameter.
Size group_count(const Call& call) {
  return find_axis(call.shape(), group) >= 0 ? extent_of(call.shape(), group) : call.size(groups_param);
}

Outcome<Shape> shape(const Call& call) {
  const Shape& x = call.shape();
  const Size groups = group_count(call);
  if (find_axis(x, channel) < 0) return needs_axis(channel, x, call.sites());
  if (find_axis(x, window_h) >= 0 || find_axis(x, window_w) >= 0)
    return Rejection{"conv: the operand has no window axes", call.sites().explain([&] { return str(x); })};
  if (find_axis(x, group) >= 0 && !call.size(groups_param).is_one())
    return Rejection{"conv: groups come from the group axis or from the parameter, not both",
                     call.sites().explain([&] { return str(x); })};
  const bool by_axis = find_axis(x, group) >= 0;
  if (!call.sites().whole(groups))
    return Rejection{"conv: the number of groups is whole", call.sites().explain([&] { return groups.str(); })};
  if (!by_axis && !call.sites().whole(extent_of(x, channel) / groups))
    return Rejection{"conv: the groups divide the channels", call.sites().explain([&] {
                       return fmt::format("c={} in {} groups", extent_of(x, channel).str(), groups.str());
                     })};
  if (!call.sites().whole(call.size(to_param) / groups))
    return Rejection{"conv: the groups divide the new channels", call.sites().explain([&] {
                       return fmt::format("to={} in {} groups", call.size(to_param).str(), groups.str());
                     })};
  for (AxisKind kind : {height, width}) {
    const int k = along(call.numbers(window_param), kind);
    if (k < 1 || k % 2 == 0 || along(call.numbers(dilation_param), kind) < 1)
      return Rejection{"conv: windows are odd, dilations at least 1",
                       call.sites().explain([&] { return std::to_string(k); })};
    if (k > 1 && find_axis(x, kind) < 0) return needs_axis(kind, x, call.sites());
  }
  if (along(call.numbers(window_param), height) == 1 && along(call.numbers(window_param), width) == 1)
    return Rejection{"conv: some window is above 1 (else use linear)", ""};
  Shape y{{channel, call.size(to_param)}};
  bool any_strided = false;
  for (Axis axis : x) {
    if (axis.kind == channel || axis.kind == group) continue;
    if (strided(call, axis)) {
      axis.extent /= Size(Symbol::s);
      any_strided = true;
    }
    y.push_back(axis);
  }
  if (call.word(stride_param) == 1 && !any_strided)
    return Rejection{"the operand still has the site's stride", call.sites().explain([&] { return str(x); })};
  return y;
}

/// The coordinate that reads a spatial axis through its window.
Coord through_window(const Call& call, Draft& draft, const Axis& axis, Shape& weight_axes,
                     std::vector<Coord>& weight_at, Size& fan_in) {
  const bool skip = strided(call, axis);
  Coord coord = draft.left(axis.kind, skip ? axis.extent / Size(Symbol::s) : axis.extent);
  if (skip) coord = Size(Symbol::s) * coord;
  const std::int64_t k = along(call.numbers(window_param), axis.kind);
  const std::int64_t d = along(call.numbers(dilation_param), axis.kind);
  if (k == 1) return coord;
  const AxisKind window = axis.kind == height ? window_h : window_w;
  const Coord inside = draft.reduced(window, Size(k));
  weight_axes.push_back({window, Size(k)});
  weight_at.push_back(inside);
  fan_in *= Size(k);
  return std::move(coord) + Size(d) * inside - SizeSum(centre(k, d));
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& x = call.shape();
  const bool by_axis = find_axis(x, group) >= 0;
  const Size groups = group_count(call);
  const Size& to = call.size(to_param);
  const Size per_group = by_axis ? extent_of(x, channel) : extent_of(x, channel) / groups;

  Draft draft = build.draft();
  const Coord n = draft.batch();
  Shape weight_axes{{channel, to / groups}, {channel, per_group}};
  std::vector<Coord> weight_at;
  Coord g;
  if (groups.is_one()) {
    weight_at.push_back(draft.left(channel, to));
  } else {
    weight_at = draft.left_digits(channel, {{group, groups}, {channel, to / groups}});
    g = weight_at[0];
    weight_axes.insert(weight_axes.begin(), {group, groups});
  }
  const Coord c = draft.reduced(channel, per_group);
  weight_at.push_back(c);
  Size fan_in = per_group;
  std::vector<Coord> at{n};
  for (const Axis& axis : x) {
    if (axis.kind == group) {
      at.push_back(g);
    } else if (axis.kind == channel) {
      at.push_back(by_axis || groups.is_one() ? c : per_group * g + c);
    } else if (is_spatial(axis.kind)) {
      at.push_back(through_window(call, draft, axis, weight_axes, weight_at, fan_in));
    } else {
      at.push_back(draft.left(axis.kind, axis.extent));
    }
  }
  const int w = build.weight(WeightRole::linear, weight_axes, fan_in);
  const Expr a = draft.read(build.operand(), std::move(at));
  const Expr b = draft.read(w, std::move(weight_at));
  draft.emit(draft.apply(Fn::mul, a, b), Reduce::sum);
}

/// k x k, k x 1 and 1 x k windows of the axes that there are.
std::vector<Option> windows(bool has_height, bool has_width, int largest) {
  std::vector<Option> options;
  for (const auto& [k, often] : {std::pair{3, 3.0}, {5, 2.0}, {7, 1.0}}) {
    if (k > largest) break;
    if (has_height && has_width) options.push_back({one_or_two(k, k), 0.7 * often});
    if (has_height) options.push_back({one_or_two(k, 1), 0.15 * often});
    if (has_width) options.push_back({one_or_two(1, k), 0.15 * often});
  }
  return options;
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  const Shape& x = proposer.shape();
  const bool has_height = find_axis(x, height) >= 0;
  const bool has_width = find_axis(x, width) >= 0;
  if (!has_height && !has_width) return needs_axis(height, x, proposer.sites);
  if (find_axis(x, channel) < 0) return needs_axis(channel, x, proposer.sites);
  // Few options suffice to end a kernel, and all of them are worked out.
  const auto window = windows(has_height, has_width, proposer.closing ? 3 : 7);
  std::vector<Option> dilation{{one_or_two(1, 1), 0.85}};
  if (!proposer.closing)
    for (const auto& [d, often] : {std::pair{2, 0.11}, {3, 0.04}}) dilation.push_back({one_or_two(d, d), often});
  const bool can_stride =
      any_stride(proposer.sites) && (has_stride(extent_of(x, height)) || has_stride(extent_of(x, width)));
  std::vector<Option> stride{{Word{0}, 0.3}};
  if (can_stride) stride.push_back({Word{1}, 0.7});
  if (can_stride && proposer.closing) stride = {{Word{1}}};
  const auto with = [&](double weight, std::vector<Option> to, const Size& groups) {
    return Offer{weight, {std::move(to), window, dilation, {{groups}}, stride}, {}};
  };
  const bool by_axis = find_axis(x, group) >= 0;
  std::vector<Offer> all{with(by_axis || proposer.closing ? 1.0 : 0.3, proposer.widths(), Size(1))};
  if (by_axis) return all;
  // Depthwise: one output channel per input channel. Closing, grouped ones are what a tight budget still pays for.
  const Size channels = extent_of(x, channel);
  all.push_back(with(0.4, {{channels}}, channels));
  all.push_back(with(0.3, proposer.widths(), Size(Symbol::g)));
  return all;
}

constexpr std::string_view no_yes[] = {"no", "yes"};
constexpr Param params[] = {{"to", ParamKind::size, "number of channels of the result"},
                            {"window", ParamKind::numbers, "odd window, one number or (height,width)", "3"},
                            {"dilation", ParamKind::numbers, "step between the window's elements", "1"},
                            {"groups", ParamKind::size, "number of groups; the channels themselves for depthwise", "1"},
                            {"stride", ParamKind::word, "whether it takes the site's stride", "no", no_yes}};

}  // namespace

extern const Primitive conv_record;
const Primitive conv_record{
    .name = "conv",
    .family = Family::arithmetic,
    .brief = "convolution: k x k, k x 1 or 1 x k, dilated, grouped, depthwise, strided",
    .source = "Canvas's published code; depthwise: Howard et al., MobileNets (arXiv 1704.04861)",
    .params = params,
    .weight = 2.6,
    .closing_weight = 1.0,
    .weighted = true,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
