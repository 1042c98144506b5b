// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

constexpr int by_max = 1;

void stages(const Call& call, StageBuilder& build) {
  const Size s(Symbol::s);
  Draft draft = build.draft();
  std::vector<Coord> at{draft.batch()};
  Size count(1);
  for (const Axis& axis : call.shape()) {
    if (!is_spatial(axis.kind) || !has_stride(axis.extent)) {
      at.push_back(draft.left(axis.kind, axis.extent));
      continue;
    }
    const Coord outer = draft.left(axis.kind, axis.extent / s);
    at.push_back(s * outer + draft.reduced(axis.kind == height ? window_h : window_w, s));
    count *= s;
  }
  const Expr x = draft.read(build.operand(), std::move(at));
  if (call.word(0) == by_max) {
    draft.emit(x, Reduce::max);
    return;
  }
  draft.factor(Size(1) / count);
  draft.emit(x, Reduce::sum);
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  if (!any_stride(proposer.sites)) return Rejection{"some site has a stride", ""};
  return std::vector<Offer>{{1.0, {{{Word{0}}, {Word{by_max}}}}, {}}};
}

constexpr std::string_view ways[] = {"mean", "max"};
constexpr Param params[] = {{"by", ParamKind::word, "mean or max", "mean", ways, false}};

}  // namespace

extern const Primitive pool_record;
const Primitive pool_record{
    .name = "pool",
    .family = Family::rearranging,
    .brief = "mean or maximum of s x s squares, s being the site's stride; a missing last row counts as zeros",
    .source = "Canvas's first code (average pool by the site's stride)",
    .params = params,
    .weight = 0.8,
    .closing_weight = 0.8,
    .shape = without_stride,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
