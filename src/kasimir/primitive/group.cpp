// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  const Shape& x = call.shape();
  const int c = find_axis(x, channel);
  if (c < 0) return needs_axis(channel, x, call.sites());
  if (find_axis(x, AxisKind::group) >= 0)
    return Rejection{"the operand has no group axis yet", call.sites().explain([&] { return str(x); })};
  const Size& by = call.size(0);
  const Size rest = x[static_cast<std::size_t>(c)].extent / by;
  if (by.is_one()) return Rejection{"group: the factor is above 1", call.sites().explain([&] { return by.str(); })};
  if (!call.sites().whole(rest))
    return Rejection{"group: the factor divides the channels", call.sites().explain([&] {
                       return fmt::format("c={} by {}", x[static_cast<std::size_t>(c)].extent.str(), by.str());
                     })};
  Shape y = x;
  y[static_cast<std::size_t>(c)].extent = rest;
  y.insert(y.begin() + c, {AxisKind::group, by});
  return y;
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& x = call.shape();
  const Size& by = call.size(0);
  Draft draft = build.draft();
  std::vector<Coord> at{draft.batch()};
  for (const Axis& axis : x) {
    if (axis.kind != channel) {
      at.push_back(draft.left(axis.kind, axis.extent));
      continue;
    }
    const Size each = axis.extent / by;
    const Coord g = draft.left(AxisKind::group, by);
    at.push_back(each * g + draft.left(channel, each));
  }
  draft.emit(draft.read(build.operand(), std::move(at)));
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  return offer_factors(proposer, "group: the factor divides the channels");
}

constexpr Param params[] = {{"by", ParamKind::size, "number of groups"}};

}  // namespace

extern const Primitive group_record;
const Primitive group_record{
    .name = "group",
    .family = Family::rearranging,
    .brief = "splits the channels into a group axis and a channel axis",
    .source = "Canvas (arXiv 2304.07741), section 4",
    .params = params,
    .weight = 1.6,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
