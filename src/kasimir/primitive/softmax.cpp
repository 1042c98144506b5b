// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  if (call.axes(0).empty()) return Rejection{"softmax: over some axis", ""};
  for (AxisKind kind : call.axes(0).kinds())
    if (find_axis(call.shape(), kind) < 0) return needs_axis(kind, call.shape());
  return call.shape();
}

void stages(const Call& call, StageBuilder& build) { emit_softmax(build, build.operand(), call.shape(), call.axes(0)); }

Outcome<Draw> propose(Proposer& proposer) {
  const AxisSet axes = draw_axes(proposer, {group, channel, window_h, window_w, height, width, token}, 2);
  return Draw{{axes}, {}};
}

constexpr Param params[] = {{"axes", ParamKind::axes, "axes over which the result sums to 1"}};

}  // namespace

extern const Primitive softmax_record;
const Primitive softmax_record{
    .name = "softmax",
    .family = Family::arithmetic,
    .brief = "exponentials that sum to 1 over axes",
    .source = "Canvas (arXiv 2304.07741), section 4",
    .params = params,
    .weight = 0.5,
    .shape = shape,
    .stages = stages,
    .propose = propose,
};

}  // namespace kasimir
