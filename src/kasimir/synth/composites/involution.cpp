// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite involution_composite;
const Composite involution_composite{
    .name = "involution",
    .brief = "windows weighted by what their middle says, alike for the channels of a group",
    .source = "involution, arXiv 2103.06255",
    .steps = R"(
a = linear(x, to=x1)
b = norm(a) | a
c = relu(b) | gelu(b) | hardswish(b)
d = mix(c, over=c, to=(g=g,u=3,v=3))
e = unfold(x)
f = group(e, by=g)
g = broadcast(d, f, op=mul)
h = fold(g, axes=(u,v), by=sum)
i = merge(h)
)",
};

}  // namespace kasimir
