// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite gate_composite;
const Composite gate_composite{
    .name = "gate",
    .brief = "channels weighted by what the whole image has in them",
    .source = "squeeze-and-excitation, arXiv 1709.01507",
    .steps = R"(
a = fold(x, axes=(h,w)) | fold(x, axes=(h,w), by=max)
b = linear(a, to=x1)
c = relu(b) | gelu(b) | hardswish(b)
d = linear(c, to=x0)
e = sigmoid(d) | tanh(d)
f = broadcast(e, x, op=mul)
)",
};

}  // namespace kasimir
