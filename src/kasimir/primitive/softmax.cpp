// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  if (call.axes(0).empty()) return Rejection{"softmax: over some axis", ""};
  for (AxisKind kind : call.axes(0).kinds())
    if (find_axis(call.shape(), kind) < 0) return needs_axis(kind, call.shape(), call.sites());
  return call.shape();
}

void stages(const Call& call, StageBuilder& build) { emit_softmax(build, build.operand(), call.shape(), call.axes(0)); }

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  std::vector<Offer> all;
  if (auto axes = axis_sets(proposer, {group, channel, window_h, window_w, token}, 2); !axes.empty())
    all.push_back({0.8, {std::move(axes)}, {}});
  // Over rows and columns it makes every output see the whole image: the rarer wish in place of a convolution.
  if (auto axes = axis_sets(proposer, {height, width}, 2); !axes.empty()) all.push_back({0.1, {std::move(axes)}, {}});
  return all;
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
    .offers = offers,
};

}  // namespace kasimir
