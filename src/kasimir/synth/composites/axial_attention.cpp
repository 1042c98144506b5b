// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite axial_attention_composite;
const Composite axial_attention_composite{
    .name = "axial_attention",
    .brief = "attention of rows, or of columns, by their means, added to a map of all positions",
    .source = "SeaFormer, arXiv 2301.13156, one of its two axes",
    .steps = R"(
a = fold(x, axes=w) | fold(x, axes=h)
b = linear(a, to=x1)
c = linear(a, to=x1)
d = matmul(b, c, left=channels, right=channels, softmax=yes)
e = linear(a, to=x2)
f = matmul(d, e, left=token, right=positions)
g = linear(x, to=x2)
h = broadcast(f, g)
)",
};

}  // namespace kasimir
