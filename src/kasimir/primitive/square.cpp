// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {
namespace {

Expr value(Draft& draft, Expr x) { return draft.apply(Fn::mul, x, x); }

}  // namespace

extern const Primitive square_record;
const Primitive square_record{
    .name = "square",
    .family = Family::arithmetic,
    .brief = "x * x",
    .source = "element-wise, Canvas (arXiv 2304.07741)",
    .weight = 0.3,
    .shape = same_shape,
    .stages = pointwise<value>,
    .offers = offer_nothing,
};

}  // namespace kasimir
