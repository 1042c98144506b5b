// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

enum { by_mean, by_max, by_sum };

Outcome<Shape> shape(const Call& call) {
  if (call.axes(0).empty()) return Rejection{"fold: over some axis", ""};
  for (AxisKind kind : call.axes(0).kinds())
    if (find_axis(call.shape(), kind) < 0) return needs_axis(kind, call.shape(), call.sites());
  Shape y = without(call.shape(), call.axes(0));
  if (y.empty()) return Rejection{"fold: some axis is left", call.sites().explain([&] { return str(call.shape()); })};
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

Outcome<std::vector<Offer>> offers(const Proposer& proposer) {
  std::vector<Option> by{{Word{by_mean}, 0.45}, {Word{by_max}, 0.35}};
  if (!proposer.closing) by.push_back({Word{by_sum}, 0.2});
  std::vector<Offer> all;
  const auto add = [&](AxisSet allowed, double weight) {
    if (auto axes = axis_sets(proposer, allowed, 2); !axes.empty()) all.push_back({weight, {std::move(axes), by}, {}});
  };
  // Windows are folded whenever there are some; a fold of whole rows makes every output see the whole image: the
  // rarest.
  add({window_h, window_w}, 0.8);
  add(proposer.closing ? AxisSet{group, token} : AxisSet{group, channel, token}, 0.1);
  if (!proposer.closing) add({height, width}, 0.02);
  if (all.empty())
    return Rejection{"fold: the operand has an axis to fold",
                     proposer.sites.explain([&] { return str(proposer.shape()); })};
  return all;
}

constexpr std::string_view ways[] = {"mean", "max", "sum"};
constexpr Param params[] = {{"axes", ParamKind::axes, "axes that disappear"},
                            {"by", ParamKind::word, "mean, max or sum", "mean", ways, false}};

}  // namespace

extern const Primitive fold_record;
const Primitive fold_record{
    .name = "fold",
    .family = Family::arithmetic,
    .brief = "mean, maximum or sum over axes",
    .source = "Canvas (arXiv 2304.07741), section 4",
    .params = params,
    .weight = 1.2,
    .closing_weight = 1.5,
    .shape = shape,
    .stages = stages,
    .offers = offers,
};

}  // namespace kasimir
