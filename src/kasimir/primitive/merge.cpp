// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  const Shape& x = call.shape();
  if (find_axis(x, group) < 0) return needs_axis(group, x, call.sites());
  if (find_axis(x, channel) < 0) return needs_axis(channel, x, call.sites());
  Shape y = without(x, {group});
  y[static_cast<std::size_t>(find_axis(y, channel))].extent *= extent_of(x, group);
  return y;
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& x = call.shape();
  Draft draft = build.draft();
  std::vector<Coord> at(x.size() + 1);
  at[0] = draft.batch();
  const auto g = static_cast<std::size_t>(find_axis(x, group));
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (x[i].kind == group) continue;
    if (x[i].kind != channel) {
      at[i + 1] = draft.left(x[i].kind, x[i].extent);
      continue;
    }
    const auto digits = draft.left_digits(channel, {x[g], x[i]});
    at[g + 1] = digits[0];
    at[i + 1] = digits[1];
  }
  draft.emit(draft.read(build.operand(), std::move(at)));
}

}  // namespace

extern const Primitive merge_record;
const Primitive merge_record{
    .name = "merge",
    .family = Family::rearranging,
    .brief = "joins the group axis and the channel axis to channels",
    .source = "inverse of group; Canvas's published code does it at each use",
    .weight = 1.2,
    .closing_weight = 0.6,
    .shape = shape,
    .stages = stages,
    .offers = offer_nothing,
};

}  // namespace kasimir
