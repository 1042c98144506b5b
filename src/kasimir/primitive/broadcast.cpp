// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

constexpr Fn functions[] = {Fn::add, Fn::sub, Fn::mul, Fn::max, Fn::min};

/// True if a's channels are repeated to fill b's.
bool tiled(const Call& call) {
  const Shape& a = call.shape(0);
  const Shape& b = call.shape(1);
  return find_axis(a, channel) >= 0 && find_axis(b, channel) >= 0 &&
         !call.sites().equal(extent_of(a, channel), extent_of(b, channel));
}

Outcome<Shape> shape(const Call& call) {
  const Shape& a = call.shape(0);
  const Shape& b = call.shape(1);
  for (const Axis& axis : a) {
    const int i = find_axis(b, axis.kind);
    if (i < 0)
      return Rejection{"broadcast: the second operand has every axis of the first",
                       call.sites().explain([&] { return fmt::format("{} against {}", str(a), str(b)); })};
    const Size& extent = b[static_cast<std::size_t>(i)].extent;
    if (call.sites().equal(axis.extent, extent)) continue;
    if (axis.kind == channel && call.sites().whole(extent / axis.extent)) continue;
    return Rejection{"broadcast: extents are equal, or the first's channels divide the second's",
                     call.sites().explain([&] {
                       return fmt::format("{}={} against {}", axis_letter(axis.kind), axis.extent.str(), extent.str());
                     })};
  }
  return b;
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& a = call.shape(0);
  const Shape& b = call.shape(1);
  Draft draft = build.draft();
  std::vector<Coord> at_b{draft.batch()};
  std::vector<Coord> at_a(a.size() + 1);
  at_a[0] = at_b[0];
  for (const Axis& axis : b) {
    const int i = find_axis(a, axis.kind);
    if (axis.kind == channel && tiled(call)) {
      const Size& part = a[static_cast<std::size_t>(i)].extent;
      const auto digits = draft.left_digits(channel, {{token, axis.extent / part}, {channel, part}});
      at_b.push_back(part * digits[0] + digits[1]);
      at_a[static_cast<std::size_t>(i) + 1] = digits[1];
      continue;
    }
    at_b.push_back(draft.left(axis.kind, axis.extent));
    if (i >= 0) at_a[static_cast<std::size_t>(i) + 1] = at_b.back();
  }
  const Expr left = draft.read(build.operand(0), std::move(at_a));
  const Expr right = draft.read(build.operand(1), std::move(at_b));
  draft.emit(draft.apply(functions[call.word(0)], left, right));
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  const Shape& a = proposer.shape(0);
  const Shape& b = proposer.shape(1);
  std::vector<Substitution> substitutions;
  for (const Axis& axis : a) {
    const int i = find_axis(b, axis.kind);
    if (i < 0)
      return Rejection{"broadcast: the second operand has every axis of the first",
                       proposer.sites.explain([&] { return fmt::format("{} against {}", str(a), str(b)); })};
    const Size& extent = b[static_cast<std::size_t>(i)].extent;
    if (proposer.sites.equal(axis.extent, extent)) continue;
    if (axis.kind == channel && !axis.extent.has_free() && !extent.has_free() &&
        proposer.sites.whole(extent / axis.extent))
      continue;
    // One substitution a step: a second one could contradict the first.
    const auto solution = solve_equal(axis.extent, extent, proposer.sites);
    if (!solution || !substitutions.empty())
      return Rejection{"broadcast: shape matching solves the extents", proposer.sites.explain([&] {
                         return fmt::format("{}={} against {}", axis_letter(axis.kind), axis.extent.str(),
                                            extent.str());
                       })};
    substitutions.push_back(*solution);
  }
  std::vector<Option> operation{{Word{0}, 0.45}, {Word{1}, 0.1}, {Word{2}, 0.3}, {Word{3}, 0.1}, {Word{4}, 0.05}};
  return std::vector<Offer>{{1.0, {std::move(operation)}, std::move(substitutions)}};
}

constexpr std::string_view operations[] = {"add", "sub", "mul", "max", "min"};
constexpr Param params[] = {{"op", ParamKind::word, "add, sub, mul, max or min", "add", operations, false}};

}  // namespace

extern const Primitive broadcast_record;
const Primitive broadcast_record{
    .name = "broadcast",
    .family = Family::blending,
    .brief = "combines two tensors element by element; the first is repeated along the axes that it lacks",
    .source = "Canvas (arXiv 2304.07741), section 4",
    .operands = 2,
    .params = params,
    .weight = 2.0,
    .closing_weight = 3.0,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
