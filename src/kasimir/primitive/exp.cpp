// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {

extern const Primitive exp_record;
const Primitive exp_record{
    .name = "exp",
    .family = Family::arithmetic,
    .brief = "exponential",
    .source = "element-wise, Canvas (arXiv 2304.07741)",
    .weight = 0.2,
    .shape = same_shape,
    .stages = pointwise<apply_function<Fn::exp>>,
    .offers = offer_nothing,
};

}  // namespace kasimir
