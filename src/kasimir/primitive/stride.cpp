// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

void stages(const Call& call, StageBuilder& build) {
  const Size s(Symbol::s);
  Draft draft = build.draft();
  std::vector<Coord> at{draft.batch()};
  for (const Axis& axis : call.shape()) {
    const bool strided = is_spatial(axis.kind) && has_stride(axis.extent);
    at.push_back(strided ? s * draft.left(axis.kind, axis.extent / s) : draft.left(axis.kind, axis.extent));
  }
  draft.emit(draft.read(build.operand(), std::move(at)));
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  if (!any_stride(proposer.sites)) return Rejection{"some site has a stride", ""};
  return std::vector<Offer>{{}};
}

}  // namespace

extern const Primitive stride_record;
const Primitive stride_record{
    .name = "stride",
    .family = Family::rearranging,
    .brief = "keeps every s-th row and column, s being the site's stride",
    .source = "strided convolution, as its own step",
    .weight = 0.8,
    .closing_weight = 0.8,
    .shape = without_stride,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
