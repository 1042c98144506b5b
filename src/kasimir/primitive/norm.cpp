// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

constexpr AxisSet kept_kinds{group, channel};
// Momentum, and 1/100000 as the constant beside the variance: the defaults of PyTorch's BatchNorm2d.
constexpr double momentum = 0.1;

Outcome<Shape> shape(const Call& call) {
  if (find_axis(call.shape(), channel) < 0) return needs_axis(channel, call.shape(), call.sites());
  return call.shape();
}

/// A statistic over the batch and every axis that is no channel; `value` makes the summand of the operand's read.
template <typename Value>
int statistic(const Call& call, StageBuilder& build, double start, Value value) {
  const Shape& x = call.shape();
  Draft draft = build.draft();
  std::vector<Coord> at(x.size() + 1);
  std::vector<Coord> kept;
  Size count(Symbol::N);
  for (std::size_t i = 0; i < x.size(); ++i)
    if (kept_kinds.has(x[i].kind)) kept.push_back(at[i + 1] = draft.left(x[i].kind, x[i].extent));
  at[0] = draft.reduced_batch();
  for (std::size_t i = 0; i < x.size(); ++i) {
    if (kept_kinds.has(x[i].kind)) continue;
    at[i + 1] = draft.reduced(x[i].kind, x[i].extent);
    count *= x[i].extent;
  }
  draft.factor(Size(1) / count);
  draft.mark_stat({momentum, start});
  const Expr summand = value(draft, draft.read(build.operand(), std::move(at)), kept);
  return draft.emit(summand, Reduce::sum);
}

void stages(const Call& call, StageBuilder& build) {
  const Shape& x = call.shape();
  const int mean = statistic(call, build, 0.0, [](Draft&, Expr read, const std::vector<Coord>&) { return read; });
  const int variance = statistic(call, build, 1.0, [&](Draft& draft, Expr read, const std::vector<Coord>& kept) {
    const Expr centred = draft.apply(Fn::sub, read, draft.read(mean, kept));
    return draft.apply(Fn::mul, centred, centred);
  });
  Shape channels;
  for (const Axis& axis : x)
    if (kept_kinds.has(axis.kind)) channels.push_back(axis);
  const int gamma = build.weight(WeightRole::scale, channels);
  const int beta = build.weight(WeightRole::offset, channels);

  Draft draft = build.draft();
  const auto at = pass(draft, x);
  std::vector<Coord> kept;
  for (std::size_t i = 0; i < x.size(); ++i)
    if (kept_kinds.has(x[i].kind)) kept.push_back(at[i + 1]);
  const Expr centred = draft.apply(Fn::sub, draft.read(build.operand(), at), draft.read(mean, kept));
  const Expr spread = draft.apply(Fn::add, draft.read(variance, kept), draft.constant(Rational(1, 100000)));
  const Expr unit = draft.apply(Fn::mul, centred, draft.apply(Fn::rsqrt, spread));
  const Expr scaled = draft.apply(Fn::mul, unit, draft.read(gamma, kept));
  draft.emit(draft.apply(Fn::add, scaled, draft.read(beta, kept)));
}

}  // namespace

extern const Primitive norm_record;
const Primitive norm_record{
    .name = "norm",
    .family = Family::arithmetic,
    .brief = "batch norm per channel with learned scale and offset",
    .source = "Ioffe and Szegedy, arXiv 1502.03167; running variance is stored biased",
    .weight = 1.2,
    .weighted = true,
    .shape = shape,
    .stages = stages,
    .offers = offer_nothing,
};

}  // namespace kasimir
