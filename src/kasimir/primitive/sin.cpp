// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Expr value(Draft& draft, Expr x) { return draft.apply(Fn::sin, draft.apply(Fn::mul, draft.half_pi(), x)); }

}  // namespace

extern const Primitive sin_record;
const Primitive sin_record{
    .name = "sin",
    .family = Family::arithmetic,
    .brief = "sin(pi/2 * x)",
    .source = "element-wise, Canvas's published code",
    .weight = 0.2,
    .shape = same_shape,
    .stages = pointwise<value>,
    .offers = offer_nothing,
};

}  // namespace kasimir
