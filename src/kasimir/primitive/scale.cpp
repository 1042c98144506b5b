// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  for (AxisKind kind : call.axes(0).kinds())
    if (find_axis(call.shape(), kind) < 0) return needs_axis(kind, call.shape(), call.sites());
  return call.shape();
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& x = call.shape();
  Draft draft = build.draft();
  auto at = pass(draft, x);
  Shape weight_axes;
  std::vector<Coord> weight_at;
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (!call.axes(0).has(x[i].kind)) continue;
    weight_axes.push_back(x[i]);
    weight_at.push_back(at[i + 1]);
  }
  const int w = build.weight(WeightRole::scale, weight_axes);
  const Expr a = draft.read(build.operand(), std::move(at));
  const Expr b = draft.read(w, std::move(weight_at));
  draft.emit(draft.apply(Fn::mul, a, b));
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  auto axes = weighted_axis_sets(proposer);
  if (axes.empty())
    return Rejection{"scale: the operand has an axis to scale along",
                     proposer.sites.explain([&] { return str(proposer.shape()); })};
  return std::vector<Offer>{{1.0, {std::move(axes)}, {}}};
}

constexpr Param params[] = {{"axes", ParamKind::axes, "axes along which the factor varies"}};

}  // namespace

extern const Primitive scale_record;
const Primitive scale_record{
    .name = "scale",
    .family = Family::arithmetic,
    .brief = "learned factor that varies along some axes",
    .source = "Canvas's published code",
    .params = params,
    .weight = 0.8,
    .weighted = true,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
