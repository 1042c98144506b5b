// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {

extern const Primitive relu_record;
const Primitive relu_record{
    .name = "relu",
    .family = Family::arithmetic,
    .brief = "max(x, 0)",
    .source = "activation, Canvas (arXiv 2304.07741), section 4",
    .weight = 1.5,
    .shape = same_shape,
    .stages = pointwise<apply_function<Fn::relu>>,
    .offers = offer_nothing,
};

}  // namespace kasimir
