// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

enum { by_mean, by_max, by_sum };

Outcome<Shape> shape(const Call& call) {
  for (AxisKind kind : call.axes(0).kinds())
    if (find_axis(call.shape(), kind) < 0) return needs_axis(kind, call.shape());
  Shape y = without(call.shape(), call.axes(0));
  if (y.empty()) return Rejection{"fold: some axis is left", str(call.shape())};
  return y;
}

void stages(const Call& call, StageBuilder& build) {
  Draft draft = build.draft();
  auto at = pass_or_reduce(draft, call.shape(), call.axes(0));
  Size count(1);
  for (AxisKind kind : call.axes(0).kinds()) count *= extent_of(call.shape(), kind);
  if (call.word(1) == by_mean) draft.factor(Size(1) / count);
  const Expr x = draft.read(build.operand(), std::move(at));
  draft.emit(x, call.word(1) == by_max ? Reduce::max : Reduce::sum);
}

Outcome<Draw> propose(Proposer& proposer) {
  AxisSet allowed{window_h, window_w};
  // Windows are folded whenever there are some; a fold of whole rows or of all channels is the rarer step.
  const bool has_window = find_axis(proposer.shape(), window_h) >= 0 || find_axis(proposer.shape(), window_w) >= 0;
  if (!has_window || proposer.rng.chance(0.2)) allowed = AxisSet{group, channel, height, width, token};
  const AxisSet axes = draw_axes(proposer, allowed, 2);
  if (axes.empty()) return Rejection{"fold: the operand has an axis to fold", str(proposer.shape())};
  const double p = proposer.rng.unit();
  return Draw{{axes, Word{static_cast<std::uint8_t>(p < 0.45 ? by_mean : p < 0.8 ? by_max : by_sum)}}, {}};
}

constexpr std::string_view ways[] = {"mean", "max", "sum"};
constexpr Param params[] = {{"axes", ParamKind::axes, "axes that disappear"},
                            {"by", ParamKind::word, "mean, max or sum", "mean", ways}};

}  // namespace

extern const Primitive fold_record;
const Primitive fold_record{
    .name = "fold",
    .family = Family::arithmetic,
    .brief = "mean, maximum or sum over axes",
    .source = "Canvas (arXiv 2304.07741), section 4",
    .params = params,
    .weight = 1.2,
    .shape = shape,
    .stages = stages,
    .propose = propose,
};

}  // namespace kasimir
