// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

#include <algorithm>

namespace kasimir {
namespace {

/// What the second number of channels is of the first, if that is the same number at every site, whatever the free
/// symbols are.
std::optional<Rational> ratio_of(const Size& a, const Size& b, const SiteSet& sites) {
  Size ratio = b / a;
  if (!ratio.is_number() && sites.equal(Size(Symbol::Ci), Size(Symbol::Co)))
    ratio = ratio.substitute(Symbol::Ci, Size(Symbol::Co));
  for (const Symbol symbol : choice_symbols)
    if (ratio.has(symbol) && !sites.bindings().empty() && sites.bindings().front().has(symbol))
      ratio = ratio.substitute(symbol, Size(sites.bindings().front()[symbol]));
  if (!ratio.is_number()) return std::nullopt;
  return ratio.coefficient();
}

/// The rule by which the axes do not fit, whatever their extents are; nullptr where they do.
const char* mismatch(const Shape& a, const Shape& b) {
  if (find_axis(a, channel) < 0 || find_axis(b, channel) < 0) return "concat: both operands have channels";
  const bool same =
      a.size() == b.size() && std::ranges::all_of(a, [&](const Axis& axis) { return find_axis(b, axis.kind) >= 0; });
  return same ? nullptr : "concat: the operands have the same axes";
}

Outcome<Shape> shape(const Call& call) {
  const Shape& a = call.shape(0);
  const Shape& b = call.shape(1);
  const auto both = [&] { return fmt::format("{} with {}", str(a), str(b)); };
  if (const char* rule = mismatch(a, b)) return Rejection{rule, call.sites().explain(both)};
  Shape y = a;
  for (Axis& axis : y) {
    const Size other = extent_of(b, axis.kind);
    if (axis.kind == channel) {
      const auto ratio = ratio_of(axis.extent, other, call.sites());
      // Sizes are monomials: a sum of two is one only if they differ by a number.
      if (!ratio) return Rejection{"concat: the channels have a numeric ratio", call.sites().explain(both)};
      axis.extent *= Size(*ratio + Rational(1));
    } else if (!call.sites().equal(axis.extent, other)) {
      return Rejection{"concat: all extents but the channels are equal", call.sites().explain(both)};
    }
  }
  return y;
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& a = call.shape(0);
  const Shape& b = call.shape(1);
  const Shape y = *shape(call);
  Draft draft = build.draft();
  auto at_a = pass(draft, y);
  std::vector<Coord> at_b(b.size() + 1);
  at_b[0] = at_a[0];
  for (std::size_t i = 0; i < a.size(); ++i) {
    Coord& coord = at_b[static_cast<std::size_t>(find_axis(b, a[i].kind)) + 1];
    coord = a[i].kind == channel ? at_a[i + 1] - SizeSum(a[i].extent) : at_a[i + 1];
  }
  const Expr left = draft.read(build.operand(0), std::move(at_a));
  const Expr right = draft.read(build.operand(1), std::move(at_b));
  draft.emit(draft.apply(Fn::join, left, right));
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  const auto both = [&] { return fmt::format("{} with {}", str(proposer.shape(0)), str(proposer.shape(1))); };
  // What no value of a free symbol can mend is refused before anything is worked out for these shapes.
  if (const char* rule = mismatch(proposer.shape(0), proposer.shape(1)))
    return Rejection{rule, proposer.sites.explain(both)};
  const Size a = extent_of(proposer.shape(0), channel);
  const Size b = extent_of(proposer.shape(1), channel);
  if (ratio_of(a, b, proposer.sites)) return std::vector<Offer>{{}};
  const auto solution = solve_equal(a, b, proposer.sites);
  if (!solution)
    return Rejection{"concat: shape matching solves the channels",
                     proposer.sites.explain([&] { return fmt::format("c={} with c={}", a.str(), b.str()); })};
  return std::vector<Offer>{{1.0, {}, {*solution}}};
}

}  // namespace

extern const Primitive concat_record;
const Primitive concat_record{
    .name = "concat",
    .family = Family::blending,
    .brief = "joins two tensors along the channels",
    .source = "Huang et al., DenseNet (arXiv 1608.06993)",
    .operands = 2,
    .weight = 1.0,
    .closing_weight = 0.3,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
