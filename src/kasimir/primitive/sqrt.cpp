// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Expr value(Draft& draft, Expr x) {
  // Without the constant no gradient is right at 0, and zeros are frequent behind relu and padding.
  const Expr size = draft.apply(Fn::abs, x);
  const Expr floor = draft.constant(Rational(1, 1000));
  return draft.apply(Fn::sqrt, draft.apply(Fn::add, size, floor));
}

}  // namespace

extern const Primitive sqrt_record;
const Primitive sqrt_record{
    .name = "sqrt",
    .family = Family::arithmetic,
    .brief = "sqrt(|x| + 1/1000)",
    .source = "element-wise, Canvas's published code; the constant keeps the gradient finite at 0",
    .weight = 0.2,
    .shape = same_shape,
    .stages = pointwise<value>,
    .offers = offer_nothing,
};

}  // namespace kasimir
