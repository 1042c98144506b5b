// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {

extern const Primitive neg_record;
const Primitive neg_record{
    .name = "neg",
    .family = Family::arithmetic,
    .brief = "negative",
    .source = "element-wise, Canvas (arXiv 2304.07741)",
    .weight = 0.35,
    .shape = same_shape,
    .stages = pointwise<apply_function<Fn::neg>>,
    .offers = offer_nothing,
};

}  // namespace kasimir
