// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  const Shape& x = call.shape();
  if (find_axis(x, group) < 0) return needs_axis(group, x, call.sites());
  if (find_axis(x, channel) < 0) return needs_axis(channel, x, call.sites());
  Shape y = x;
  y[static_cast<std::size_t>(find_axis(x, group))].extent = extent_of(x, channel);
  y[static_cast<std::size_t>(find_axis(x, channel))].extent = extent_of(x, group);
  return y;
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& x = call.shape();
  Draft draft = build.draft();
  std::vector<Coord> at{draft.batch()};
  for (const Axis& axis : x) {
    if (axis.kind == group) {
      at.push_back(draft.left(group, extent_of(x, channel)));
    } else if (axis.kind == channel) {
      at.push_back(draft.left(channel, extent_of(x, group)));
    } else {
      at.push_back(draft.left(axis.kind, axis.extent));
    }
  }
  std::swap(at[static_cast<std::size_t>(find_axis(x, group)) + 1],
            at[static_cast<std::size_t>(find_axis(x, channel)) + 1]);
  draft.emit(draft.read(build.operand(), std::move(at)));
}

}  // namespace

extern const Primitive transpose_record;
const Primitive transpose_record{
    .name = "transpose",
    .family = Family::rearranging,
    .brief = "exchanges the group axis and the channel axis",
    .source = "Canvas's first code",
    .weight = 0.8,
    .shape = shape,
    .stages = stages,
    .offers = offer_nothing,
};

}  // namespace kasimir
