// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/builder.h"
#include "kasimir/kernel/primitive.h"

/// What several primitives' files share.
namespace kasimir {

using enum AxisKind;

/// A fresh left iterator for the batch and for every axis: the coordinates that read the operand in place.
std::vector<Coord> pass(Draft& draft, const Shape& shape);

/// The same axes, but the ones in `reduced` are reduced instead of kept.
std::vector<Coord> pass_or_reduce(Draft& draft, const Shape& shape, AxisSet reduced);

/// The axes not in `removed`.
Shape without(const Shape& shape, AxisSet removed);

Rejection needs_axis(AxisKind kind, const Shape& shape, const SiteSet& sites);

/// The stages of a softmax over `axes` of a tensor of that shape; readers recognise softmax by this form only.
void emit_softmax(StageBuilder& build, int tensor, const Shape& shape, AxisSet axes);

/// Records of the pointwise primitives: the same shape, one stage, `value(draft, read)` as expression.
Outcome<Shape> same_shape(const Call& call);
Outcome<std::vector<Offer>> offer_nothing(const Proposer& proposer);
template <Expr (*Value)(Draft&, Expr)>
void pointwise(const Call& call, StageBuilder& build) {
  Draft draft = build.draft();
  auto at = pass(draft, call.shape());
  draft.emit(Value(draft, draft.read(build.operand(), std::move(at))));
}
template <Fn Function>
Expr apply_function(Draft& draft, Expr x) {
  return draft.apply(Function, x);
}

/// The axes of the operand that are in `allowed`, each alone and, up to `most`, the pairs that belong together (height
/// and width, window height and width, group and channel), as options of an argument.
std::vector<Option> axis_sets(const Proposer& proposer, AxisSet allowed, std::size_t most);

/// The same for axes along which a weight varies: height and width only where weights may depend on the resolution.
std::vector<Option> weighted_axis_sets(const Proposer& proposer);

/// The factors of the operand's channels as one argument; without any the rule is rejected.
Outcome<std::vector<Offer>> offer_factors(const Proposer& proposer, std::string_view rule);

/// Window, dilation of odd windows: the offset that centres it, d*(k-1)/2.
std::int64_t centre(std::int64_t window, std::int64_t dilation);

/// Numbers as one value where both are equal.
Numbers one_or_two(int a, int b);

/// The symbol `s` divides the extent: a strided step may still take it away.
bool has_stride(const Size& extent);
/// Shape rule of the primitives that take the site's stride along height and width.
Outcome<Shape> without_stride(const Call& call);
/// Some site has a stride above 1.
bool any_stride(const SiteSet& sites);

/// A substitution that makes `a` equal `b`: a free symbol of power one on either side takes the rest; the value must be
/// possible at every site.
std::optional<Substitution> solve_equal(const Size& a, const Size& b, const SiteSet& sites);

}  // namespace kasimir
