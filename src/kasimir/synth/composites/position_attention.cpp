// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite position_attention_composite;
const Composite position_attention_composite{
    .name = "position_attention",
    .brief = "attention of all positions to all",
    .source = "Vaswani et al., arXiv 1706.03762, with one head",
    .steps = R"(
a = linear(x, to=x1)
b = linear(x, to=x1)
c = matmul(a, b, left=channels, right=channels, softmax=yes)
d = linear(x, to=x2)
e = matmul(c, d, left=token, right=positions)
)",
};

}  // namespace kasimir
