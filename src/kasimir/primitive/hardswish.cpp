// SPDX-License-Identifier: Apache-2.0
#include "kasimir/primitive/common.h"

namespace kasimir {

extern const Primitive hardswish_record;
const Primitive hardswish_record{
    .name = "hardswish",
    .family = Family::arithmetic,
    .brief = "x * min(max(x + 3, 0), 6) / 6",
    .source = "Howard et al., MobileNetV3, arXiv 1905.02244",
    .weight = 0.8,
    .shape = same_shape,
    .stages = pointwise<apply_function<Fn::hardswish>>,
    .offers = offer_nothing,
};

}  // namespace kasimir
