// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  const Shape& x = call.shape();
  if (call.axes(0).empty()) return Rejection{"mix: over some axis", ""};
  for (AxisKind kind : call.axes(0).kinds())
    if (find_axis(x, kind) < 0) return needs_axis(kind, x, call.sites());
  Shape y = call.axis_list(1);
  for (const Axis& axis : without(x, call.axes(0))) {
    if (find_axis(y, axis.kind) >= 0)
      return Rejection{"mix: a result has one axis of a kind",
                       call.sites().explain([&] { return fmt::format("{} to {}", str(x), str(call.axis_list(1))); })};
    y.push_back(axis);
  }
  return y;
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& x = call.shape();
  Draft draft = build.draft();
  std::vector<Coord> at{draft.batch()};
  std::vector<Coord> weight_at;
  Shape weight_axes = call.axis_list(1);
  for (const Axis& axis : call.axis_list(1)) weight_at.push_back(draft.left(axis.kind, axis.extent));
  Size fan_in(1);
  for (const Axis& axis : x) {
    if (!call.axes(0).has(axis.kind)) {
      at.push_back(draft.left(axis.kind, axis.extent));
      continue;
    }
    at.push_back(draft.reduced(axis.kind, axis.extent));
    weight_at.push_back(at.back());
    weight_axes.push_back(axis);
    fan_in *= axis.extent;
  }
  const int w = build.weight(WeightRole::linear, weight_axes, fan_in);
  const Expr a = draft.read(build.operand(), std::move(at));
  const Expr b = draft.read(w, std::move(weight_at));
  draft.emit(draft.apply(Fn::mul, a, b), Reduce::sum);
}

/// The same axes with other extents: a new width for the channels.
std::vector<Option> resized(const Proposer& proposer, AxisSet over) {
  std::vector<Option> options;
  for (const Option& channels : over.has(channel) ? proposer.widths() : std::vector<Option>{{Size(1)}}) {
    Shape to;
    for (AxisKind kind : over.kinds())
      to.push_back({kind, kind == channel ? std::get<Size>(channels.value) : extent_of(proposer.shape(), kind)});
    options.push_back({to, channels.weight});
  }
  return options;
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  const Shape& x = proposer.shape();
  const auto sets = weighted_axis_sets(proposer);
  if (sets.empty())
    return Rejection{"mix: the operand has an axis to mix", proposer.sites.explain([&] { return str(x); })};
  std::vector<Offer> all;
  if (proposer.closing) {
    AxisSet over;
    for (AxisKind kind : {group, channel, window_h, window_w})
      if (find_axis(x, kind) >= 0) over.add(kind);
    if (over.empty())
      return Rejection{"mix: the operand has an axis to mix", proposer.sites.explain([&] { return str(x); })};
    return std::vector<Offer>{{1.0, {{{over}}, {{Shape{{channel, Size(Symbol::Co)}}}}}, {}}};
  }
  for (const Option& over : sets) {
    const auto axes = std::get<AxisSet>(over.value);
    const bool to_window = axes.has(channel) && find_axis(x, window_h) < 0 && find_axis(x, window_w) < 0;
    all.push_back({over.weight * (to_window ? 0.5 : 1.0), {{over}, resized(proposer, axes)}, {}});
    if (!to_window) continue;
    // Channels to a window's weights, as involution does, for all of the image or for each group.
    const Shape window{{window_h, Size(3)}, {window_w, Size(3)}};
    std::vector<Option> to{{window, 0.4}};
    if (find_axis(x, group) < 0) to.push_back({Shape{{group, Size(Symbol::g)}, window[0], window[1]}, 0.6});
    all.push_back({over.weight * 0.5, {{over}, std::move(to)}, {}});
  }
  return all;
}

constexpr Param params[] = {{"over", ParamKind::axes, "axes that are summed over"},
                            {"to", ParamKind::shape, "axes of the result in their place, with sizes"}};

}  // namespace

extern const Primitive mix_record;
const Primitive mix_record{
    .name = "mix",
    .family = Family::arithmetic,
    .brief = "learned linear map from any set of axes to any set of axes",
    .source = "Canvas's published code",
    .params = params,
    .weight = 0.8,
    .closing_weight = 0.3,
    .weighted = true,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
