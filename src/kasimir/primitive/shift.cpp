// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

#include <cstdlib>

namespace kasimir {
namespace {

constexpr int wrap = 1;

/// The offset along the i-th chosen axis.
int offset(const Numbers& by, std::size_t i) { return by.value[by.count == 1 ? 0 : i]; }

Outcome<Shape> shape(const Call& call) {
  const Shape& x = call.shape();
  const auto kinds = call.axes(0).kinds();
  const Numbers& by = call.numbers(1);
  if (kinds.size() > 2)
    return Rejection{"shift: one or two axes",
                     call.sites().explain([&] { return fmt::format("{} axes", kinds.size()); })};
  if (by.count > kinds.size())
    return Rejection{"shift: at most one offset per axis",
                     call.sites().explain([&] { return fmt::format("{} for {}", by.count, kinds.size()); })};
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const int axis = find_axis(x, kinds[i]);
    if (axis < 0) return needs_axis(kinds[i], x, call.sites());
    if (offset(by, i) == 0) return Rejection{"shift: no offset is 0", ""};
    const Size& extent = x[static_cast<std::size_t>(axis)].extent;
    if (call.word(2) != wrap && extent.has_free())
      return Rejection{"shift: a zero-filled shift is along an axis of known extent",
                       call.sites().explain([&] { return fmt::format("{}={}", axis_letter(kinds[i]), extent.str()); })};
    if (call.word(2) != wrap && call.sites().smallest(extent) <= std::abs(offset(by, i)))
      return Rejection{"shift: a zero-filled shift is shorter than the axis", call.sites().explain([&] {
                         return fmt::format("{}={} by {}", axis_letter(kinds[i]), extent.str(), offset(by, i));
                       })};
  }
  return x;
}

void stages(const Call& call, StageBuilder& build) {
  const auto kinds = call.axes(0).kinds();
  Draft draft = build.draft();
  auto at = pass(draft, call.shape());
  for (std::size_t i = 0; i < kinds.size(); ++i) {
    const auto axis = static_cast<std::size_t>(find_axis(call.shape(), kinds[i]));
    at[axis + 1] = at[axis + 1] - SizeSum(offset(call.numbers(1), i));
    if (call.word(2) == wrap) at[axis + 1] = wrapped(at[axis + 1], call.shape()[axis].extent);
  }
  draft.emit(draft.read(build.operand(), std::move(at)));
}

/// One or two whole steps either way along each axis.
std::vector<Option> offsets(int axes) {
  std::vector<Option> options;
  for (int a : {-2, -1, 1, 2}) {
    if (axes == 1) options.push_back({one_or_two(a, a)});
    for (int b : {-2, -1, 1, 2})
      if (axes == 2) options.push_back({one_or_two(a, b)});
  }
  return options;
}

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  const std::vector<Option> fills{{Word{0}, 0.75}, {Word{wrap}, 0.25}};
  std::vector<Offer> all;
  const auto add = [&](AxisSet allowed, double weight) {
    for (const Option& axes : axis_sets(proposer, allowed, 2)) {
      const int count = static_cast<int>(std::get<AxisSet>(axes.value).kinds().size());
      all.push_back({weight * axes.weight, {{axes}, offsets(count), fills}, {}});
    }
  };
  add({height, width}, 0.9);
  add({channel, group}, 0.1);
  if (all.empty()) return needs_axis(height, proposer.shape(), proposer.sites);
  return all;
}

constexpr std::string_view fills[] = {"zero", "wrap"};
constexpr Param params[] = {{"axes", ParamKind::axes, "axes to shift along, one or two"},
                            {"by", ParamKind::numbers, "offset per axis: y[i] = x[i - by]"},
                            {"fill", ParamKind::word, "what comes in at the edge", "zero", fills}};

}  // namespace

extern const Primitive shift_record;
const Primitive shift_record{
    .name = "shift",
    .family = Family::rearranging,
    .brief = "moves the tensor along axes by a fixed offset",
    .source = "Canvas (arXiv 2304.07741), section 4; Wu et al., Shift (arXiv 1711.08141)",
    .params = params,
    .weight = 1.2,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
