// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite dilated_stack_composite;
const Composite dilated_stack_composite{
    .name = "dilated_stack",
    .brief = "a depthwise window, a dilated one and a map of channels, times what they began with",
    .source = "large-kernel attention, arXiv 2202.09741",
    .steps = R"(
a = conv(x, to=x0, groups=x0) | conv(x, to=x0, window=5, groups=x0)
b = conv(a, to=x0, window=5, dilation=2, groups=x0) | conv(a, to=x0, window=7, dilation=3, groups=x0)
c = linear(b, to=x0)
d = broadcast(c, x, op=mul) | broadcast(c, x)
)",
};

}  // namespace kasimir
