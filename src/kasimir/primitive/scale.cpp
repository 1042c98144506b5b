// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  for (AxisKind kind : call.axes(0).kinds())
    if (find_axis(call.shape(), kind) < 0) return needs_axis(kind, call.shape());
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

Outcome<Draw> propose(Proposer& proposer) {
  const AxisSet axes = draw_weighted_axes(proposer);
  if (axes.empty()) return Rejection{"scale: the operand has an axis to scale along", str(proposer.shape())};
  return Draw{{axes}, {}};
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
    .propose = propose,
};

}  // namespace kasimir
