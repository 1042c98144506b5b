// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

AxisKind window_of(AxisKind kind) { return kind == height ? window_h : window_w; }

Outcome<Shape> shape(const Call& call) {
  if (call.numbers(1).count != 1 || call.numbers(2).count != 1)
    return Rejection{"unfold: window and dilation are one number each", ""};
  const int k = call.numbers(1).value[0];
  const int d = call.numbers(2).value[0];
  if (k < 3 || k % 2 == 0)
    return Rejection{"unfold: the window is odd and at least 3",
                     call.sites().explain([&] { return std::to_string(k); })};
  if (d < 1)
    return Rejection{"unfold: the dilation is at least 1", call.sites().explain([&] { return std::to_string(d); })};
  Shape y = call.shape();
  for (AxisKind kind : call.axes(0).kinds()) {
    if (!is_spatial(kind))
      return Rejection{"unfold: along height and width only", call.sites().explain([&] { return axis_word(kind); })};
    if (find_axis(y, kind) < 0) return needs_axis(kind, y, call.sites());
    if (find_axis(y, window_of(kind)) >= 0)
      return Rejection{"unfold: the operand has no window along that axis yet",
                       call.sites().explain([&] { return str(y); })};
    y.push_back({window_of(kind), Size(k)});
  }
  return y;
}

void stages(const Call& call, StageBuilder& build) {
  const std::int64_t k = call.numbers(1).value[0];
  const std::int64_t d = call.numbers(2).value[0];
  const Shape& x = call.shape();
  Draft draft = build.draft();
  auto at = pass(draft, x);
  for (AxisKind kind : call.axes(0).kinds()) {
    auto& coord = at[static_cast<std::size_t>(find_axis(x, kind)) + 1];
    coord = std::move(coord) + Size(d) * draft.left(window_of(kind), Size(k)) - SizeSum(centre(k, d));
  }
  draft.emit(draft.read(build.operand(), std::move(at)));
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  AxisSet allowed;
  for (AxisKind kind : {height, width})
    if (find_axis(proposer.shape(), window_of(kind)) < 0) allowed.add(kind);
  auto axes = axis_sets(proposer, allowed, 2);
  if (axes.empty()) return needs_axis(height, proposer.shape(), proposer.sites);
  const auto number = [](int n, double weight) { return Option{one_or_two(n, n), weight}; };
  return std::vector<Offer>{
      {1.0,
       {std::move(axes), {number(3, 0.75), number(5, 0.2), number(7, 0.05)}, {number(1, 0.85), number(2, 0.15)}},
       {}}};
}

constexpr Param params[] = {{"axes", ParamKind::axes, "h, w or both", "(h,w)"},
                            {"window", ParamKind::numbers, "window width, odd", "3"},
                            {"dilation", ParamKind::numbers, "step between the window's elements", "1"}};

}  // namespace

extern const Primitive unfold_record;
const Primitive unfold_record{
    .name = "unfold",
    .family = Family::rearranging,
    .brief = "gives each position the window around it as new axes, zero outside",
    .source = "Canvas (arXiv 2304.07741), section 4",
    .params = params,
    .weight = 1.3,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
