// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {

extern const Primitive gelu_record;
const Primitive gelu_record{
    .name = "gelu",
    .family = Family::arithmetic,
    .brief = "x * (1 + erf(x / sqrt 2)) / 2",
    .source = "Hendrycks and Gimpel, arXiv 1606.08415",
    .weight = 0.8,
    .shape = same_shape,
    .stages = pointwise<apply_function<Fn::gelu>>,
    .offers = offer_nothing,
};

}  // namespace kasimir
