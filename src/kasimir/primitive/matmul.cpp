// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

#include <algorithm>
#include <map>

namespace kasimir {
namespace {

enum { by_channels, by_positions, by_token };
enum { left_param, right_param, softmax_param };

AxisSet side_kinds(int side) {
  if (side == by_channels) return {group, channel, window_h, window_w};
  if (side == by_positions) return {height, width};
  return {token};
}

Shape side_of(const Shape& shape, int side) {
  Shape axes;
  std::ranges::copy_if(shape, std::back_inserter(axes),
                       [&](const Axis& axis) { return side_kinds(side).has(axis.kind); });
  return axes;
}

/// The rest of b is flattened to a token axis where it would repeat a kind of the rest of a.
bool flattens(const Shape& rest_a, const Shape& rest_b) {
  return std::ranges::any_of(rest_b, [&](const Axis& axis) { return find_axis(rest_a, axis.kind) >= 0; });
}

struct Sides {
  Shape summed_a, summed_b, rest_a, rest_b;
};
/// Axes in the order of their kinds: which digit of a token axis is which must not depend on the order in which an
/// operand's axes came about.
Sides sides_of(const Shape& a, const Shape& b, int left, int right) {
  Sides sides{side_of(a, left), side_of(b, right), without(a, side_kinds(left)), without(b, side_kinds(right))};
  for (Shape* axes : {&sides.summed_a, &sides.summed_b, &sides.rest_a, &sides.rest_b})
    std::ranges::sort(*axes, {}, &Axis::kind);
  return sides;
}

Outcome<Shape> shape(const Call& call) {
  const Sides s = sides_of(call.shape(0), call.shape(1), call.word(left_param), call.word(right_param));
  const auto both = [&] { return fmt::format("{} with {}", str(call.shape(0)), str(call.shape(1))); };
  if (s.summed_a.empty() || s.summed_b.empty())
    return Rejection{"matmul: each operand has axes on the contracted side", call.sites().explain(both)};
  bool match = false;
  if (call.word(left_param) == by_token || call.word(right_param) == by_token) {
    match = call.sites().equal(volume(s.summed_a), volume(s.summed_b));
  } else {
    match = s.summed_a.size() == s.summed_b.size() && std::ranges::all_of(s.summed_a, [&](const Axis& axis) {
              const int i = find_axis(s.summed_b, axis.kind);
              return i >= 0 && call.sites().equal(axis.extent, s.summed_b[static_cast<std::size_t>(i)].extent);
            });
  }
  if (!match) return Rejection{"matmul: the contracted sides are equal", call.sites().explain(both)};
  Shape y = s.rest_a;
  if (flattens(s.rest_a, s.rest_b)) {
    if (find_axis(s.rest_a, token) >= 0 || find_axis(s.rest_b, token) >= 0)
      return Rejection{"matmul: the result has one token axis", call.sites().explain(both)};
    y.push_back({token, volume(s.rest_b)});
  } else {
    y.insert(y.end(), s.rest_b.begin(), s.rest_b.end());
  }
  if (y.empty()) return Rejection{"matmul: some axis is left", call.sites().explain(both)};
  if (call.word(softmax_param) == 1 && s.rest_b.empty())
    return Rejection{"matmul: a softmax needs an axis of the second operand", call.sites().explain(both)};
  return y;
}

/// Coordinates of an operand's axes: its own iterators, or those of the sum on the contracted side, where a token axis
/// is the join of the iterators that the other operand has as axes. The two are apart because both may have rows.
std::vector<Coord> read_at(const Shape& shape, AxisSet contracted, const Coord& batch,
                           const std::map<AxisKind, Coord>& own, const std::map<AxisKind, Coord>& sum,
                           const Shape& summed) {
  std::vector<Coord> at{batch};
  for (const Axis& axis : shape) {
    if (!contracted.has(axis.kind)) {
      at.push_back(own.at(axis.kind));
      continue;
    }
    if (sum.contains(axis.kind)) {
      at.push_back(sum.at(axis.kind));
      continue;
    }
    Coord join;
    Size stride(1);
    for (auto digit = summed.rbegin(); digit != summed.rend(); ++digit) {
      join = stride * sum.at(digit->kind) + join;
      stride *= digit->extent;
    }
    at.push_back(join);
  }
  return at;
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& a = call.shape(0);
  const Shape& b = call.shape(1);
  const Sides s = sides_of(a, b, call.word(left_param), call.word(right_param));
  Draft draft = build.draft();
  const Coord n = draft.batch();
  std::map<AxisKind, Coord> at_a;
  std::map<AxisKind, Coord> at_b;
  Shape result = s.rest_a;
  for (const Axis& axis : s.rest_a) at_a[axis.kind] = draft.left(axis.kind, axis.extent);
  if (flattens(s.rest_a, s.rest_b)) {
    const auto digits = draft.left_digits(token, s.rest_b);
    for (std::size_t i = 0; i < s.rest_b.size(); ++i) at_b[s.rest_b[i].kind] = digits[i];
    result.push_back({token, volume(s.rest_b)});
  } else {
    for (const Axis& axis : s.rest_b) at_b[axis.kind] = draft.left(axis.kind, axis.extent);
    result.insert(result.end(), s.rest_b.begin(), s.rest_b.end());
  }
  // Where one side is a token axis, the other side's axes are its digits.
  const Shape& summed = call.word(left_param) == by_token ? s.summed_b : s.summed_a;
  std::map<AxisKind, Coord> sum;
  for (const Axis& axis : summed) sum[axis.kind] = draft.reduced(axis.kind, axis.extent);
  draft.root_factor(Size(1) / volume(summed));
  const Expr left = draft.read(build.operand(0), read_at(a, side_kinds(call.word(left_param)), n, at_a, sum, summed));
  const Expr right = draft.read(build.operand(1), read_at(b, side_kinds(call.word(right_param)), n, at_b, sum, summed));
  const int product = draft.emit(draft.apply(Fn::mul, left, right), Reduce::sum);
  if (call.word(softmax_param) == 0) return;
  AxisSet over;
  for (std::size_t i = s.rest_a.size(); i < result.size(); ++i) over.add(result[i].kind);
  emit_softmax(build, product, result, over);
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  std::vector<Offer> all;
  const auto word = [](int index) { return Word{static_cast<std::uint8_t>(index)}; };
  constexpr std::array sides{by_channels, by_positions, by_token};
  std::array<std::array<std::optional<Size>, sides.size()>, 2> points;  // of each operand's sides; none: no axis
  for (int i = 0; i < 2; ++i)
    for (const int side : sides)
      for (const Axis& axis : proposer.shape(i)) {
        std::optional<Size>& product = points[static_cast<std::size_t>(i)][static_cast<std::size_t>(side)];
        if (side_kinds(side).has(axis.kind)) product = product ? *product * axis.extent : axis.extent;
      }
  for (const int left : sides) {
    for (const int right : sides) {
      const auto& a = points[0][static_cast<std::size_t>(left)];
      const auto& b = points[1][static_cast<std::size_t>(right)];
      if (!a || !b || !proposer.sites.equal(*a, *b)) continue;
      std::vector<Option> softmax{{word(0), 0.6}};
      if (!proposer.closing) softmax.push_back({word(1), 0.4});
      all.push_back({1.0, {{{word(left)}}, {{word(right)}}, std::move(softmax)}, {}});
    }
  }
  if (all.empty())
    return Rejection{"matmul: the contracted sides are equal", proposer.sites.explain([&] {
                       return fmt::format("{} with {}", str(proposer.shape(0)), str(proposer.shape(1)));
                     })};
  return all;
}

constexpr std::string_view side_words[] = {"channels", "positions", "token"};
constexpr std::string_view no_yes[] = {"no", "yes"};
constexpr Param params[] = {
    {"left", ParamKind::word, "side of the first operand that is summed over", "", side_words},
    {"right", ParamKind::word, "side of the second operand that is summed over", "", side_words},
    {"softmax", ParamKind::word, "softmax over the second operand's other axes", "no", no_yes}};

}  // namespace

extern const Primitive matmul_record;
const Primitive matmul_record{
    .name = "matmul",
    .family = Family::blending,
    .brief = "product of two tensors as matrices, divided by the root of what is summed over",
    .source = "BMM in Canvas's published code; Vaswani et al., attention (arXiv 1706.03762)",
    .operands = 2,
    .params = params,
    .weight = 0.4,
    .closing_weight = 0.4,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
