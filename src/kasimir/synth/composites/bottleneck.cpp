// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite bottleneck_composite;
const Composite bottleneck_composite{
    .name = "bottleneck",
    .brief = "a window between two maps of channels, through an inner width",
    .source = "He et al., arXiv 1512.03385; depthwise: MobileNetV2, arXiv 1801.04381",
    .steps = R"(
a = linear(x, to=x1)
b = norm(a) | a
c = relu(b) | gelu(b) | hardswish(b)
d = conv(c, to=x1) | conv(c, to=x1, groups=x1)
e = norm(d) | d
f = relu(e) | gelu(e) | hardswish(e) | e
g = linear(f, to=x2)
)",
};

}  // namespace kasimir
