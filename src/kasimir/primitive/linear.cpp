// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

constexpr AxisSet summed{channel, window_h, window_w};

Outcome<Shape> shape(const Call& call) {
  const Shape& x = call.shape();
  const Size& to = call.size(0);
  const Size groups = extent_of(x, group);
  if (without(x, summed).size() == x.size())
    return Rejection{"linear: the operand has a channel or window axis", call.sites().explain([&] { return str(x); })};
  if (!call.sites().whole(to / groups))
    return Rejection{"linear: the groups divide the new channels",
                     call.sites().explain([&] { return fmt::format("to={} with g={}", to.str(), groups.str()); })};
  Shape y{{channel, to}};
  for (const Axis& axis : x)
    if (!summed.has(axis.kind) && axis.kind != group) y.push_back(axis);
  return y;
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& x = call.shape();
  const Size& to = call.size(0);
  const Size groups = extent_of(x, group);
  const bool grouped = find_axis(x, group) >= 0;

  Draft draft = build.draft();
  std::vector<Coord> at{draft.batch()};
  std::vector<Coord> weight_at;
  Shape weight_axes;
  Coord g;
  if (grouped) {
    const auto digits = draft.left_digits(channel, {{group, groups}, {channel, to / groups}});
    g = digits[0];
    weight_at = digits;
    weight_axes = {{group, groups}, {channel, to / groups}};
  } else {
    weight_at = {draft.left(channel, to)};
    weight_axes = {{channel, to}};
  }
  Size fan_in(1);
  for (const Axis& axis : x) {
    if (axis.kind == group) {
      at.push_back(g);
    } else if (summed.has(axis.kind)) {
      at.push_back(draft.reduced(axis.kind, axis.extent));
      weight_at.push_back(at.back());
      weight_axes.push_back(axis);
      fan_in *= axis.extent;
    } else {
      at.push_back(draft.left(axis.kind, axis.extent));
    }
  }
  const int w = build.weight(WeightRole::linear, weight_axes, fan_in);
  const Expr a = draft.read(build.operand(), std::move(at));
  const Expr b = draft.read(w, std::move(weight_at));
  draft.emit(draft.apply(Fn::mul, a, b), Reduce::sum);
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  return std::vector<Offer>{{1.0, {proposer.widths()}, {}}};
}

constexpr Param params[] = {{"to", ParamKind::size, "number of channels of the result"}};

}  // namespace

extern const Primitive linear_record;
const Primitive linear_record{
    .name = "linear",
    .family = Family::arithmetic,
    .brief = "learned map of channel and window axes to channels, one per group where there is a group axis",
    .source = "FC in Canvas (arXiv 2304.07741), section 4",
    .params = params,
    .weight = 2.5,
    .closing_weight = 3.0,
    .weighted = true,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
