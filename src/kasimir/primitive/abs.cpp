// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {

extern const Primitive abs_record;
const Primitive abs_record{
    .name = "abs",
    .family = Family::arithmetic,
    .brief = "absolute value",
    .source = "element-wise, Canvas (arXiv 2304.07741)",
    .weight = 0.3,
    .shape = same_shape,
    .stages = pointwise<apply_function<Fn::abs>>,
    .offers = offer_nothing,
};

}  // namespace kasimir
