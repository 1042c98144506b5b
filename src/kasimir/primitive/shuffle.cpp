// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Outcome<Shape> shape(const Call& call) {
  const Shape& x = call.shape();
  if (find_axis(x, channel) < 0) return needs_axis(channel, x, call.sites());
  const Size& by = call.size(0);
  const Size extent = extent_of(x, channel);
  if (by.is_one() || by == extent)
    return Rejection{"shuffle: the factor is neither 1 nor the channels",
                     call.sites().explain([&] { return by.str(); })};
  if (!call.sites().whole(by) || !call.sites().whole(extent / by))
    return Rejection{"shuffle: the factor divides the channels",
                     call.sites().explain([&] { return fmt::format("c={} by {}", extent.str(), by.str()); })};
  return x;
}

void stages(const Call& call, StageBuilder& build) {
  const Size& by = call.size(0);
  Draft draft = build.draft();
  std::vector<Coord> at{draft.batch()};
  for (const Axis& axis : call.shape()) {
    if (axis.kind != channel) {
      at.push_back(draft.left(axis.kind, axis.extent));
      continue;
    }
    const Size each = axis.extent / by;
    const auto digits = draft.left_digits(channel, {{channel, each}, {group, by}});
    at.push_back(each * digits[1] + digits[0]);
  }
  draft.emit(draft.read(build.operand(), std::move(at)));
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  return offer_factors(proposer, "shuffle: the factor divides the channels");
}

constexpr Param params[] = {{"by", ParamKind::size, "number of groups whose channels are interleaved"}};

}  // namespace

extern const Primitive shuffle_record;
const Primitive shuffle_record{
    .name = "shuffle",
    .family = Family::rearranging,
    .brief = "interleaves the channels of groups",
    .source = "Zhang et al., ShuffleNet (arXiv 1707.01083)",
    .params = params,
    .weight = 0.8,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
