// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  const Shape& x = call.shape();
  for (AxisKind kind : call.axes(0).kinds())
    if (find_axis(x, kind) < 0) return needs_axis(kind, x);
  Shape y = call.axis_list(1);
  for (const Axis& axis : without(x, call.axes(0))) {
    if (find_axis(y, axis.kind) >= 0)
      return Rejection{"mix: a result has one axis of a kind", fmt::format("{} to {}", str(x), str(call.axis_list(1)))};
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

Outcome<Draw> propose(Proposer& proposer) {
  const Shape& x = proposer.shape();
  const AxisSet over = draw_weighted_axes(proposer);
  if (over.empty()) return Rejection{"mix: the operand has an axis to mix", str(x)};
  Shape to;
  if (over.has(channel) && find_axis(x, window_h) < 0 && find_axis(x, window_w) < 0 && proposer.rng.chance(0.5)) {
    to = {{window_h, Size(3)}, {window_w, Size(3)}};  // channels to a window's weights, as involution does
    if (find_axis(x, group) < 0 && proposer.rng.chance(0.6)) to.insert(to.begin(), {group, Size(Symbol::g)});
  } else {
    for (AxisKind kind : over.kinds())
      to.push_back({kind, kind == channel ? proposer.draw_width() : extent_of(x, kind)});
  }
  return Draw{{over, to}, {}};
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
    .weighted = true,
    .shape = shape,
    .stages = stages,
    .propose = propose,
};

}  // namespace kasimir
