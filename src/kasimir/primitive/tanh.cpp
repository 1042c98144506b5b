// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {

extern const Primitive tanh_record;
const Primitive tanh_record{
    .name = "tanh",
    .family = Family::arithmetic,
    .brief = "hyperbolic tangent",
    .source = "activation, Canvas (arXiv 2304.07741), section 4",
    .weight = 0.3,
    .shape = same_shape,
    .stages = pointwise<apply_function<Fn::tanh>>,
    .offers = offer_nothing,
};

}  // namespace kasimir
