// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {

extern const Primitive sigmoid_record;
const Primitive sigmoid_record{
    .name = "sigmoid",
    .family = Family::arithmetic,
    .brief = "1 / (1 + exp(-x))",
    .source = "activation, Canvas (arXiv 2304.07741), section 4",
    .weight = 0.5,
    .shape = same_shape,
    .stages = pointwise<apply_function<Fn::sigmoid>>,
    .offers = offer_nothing,
};

}  // namespace kasimir
