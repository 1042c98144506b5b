// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite crossed_attention_composite;
const Composite crossed_attention_composite{
    .name = "crossed_attention",
    .brief = "attention of rows and of columns, by their means, added to a map of all positions",
    .source = "SeaFormer, arXiv 2301.13156, without its detail branch",
    .steps = R"(
a = fold(x, axes=w)
b = linear(a, to=x1)
c = linear(a, to=x1)
d = matmul(b, c, left=channels, right=channels, softmax=yes)
e = linear(a, to=x2)
f = matmul(d, e, left=token, right=positions)
g = fold(x, axes=h)
h = linear(g, to=x1)
i = linear(g, to=x1)
j = matmul(h, i, left=channels, right=channels, softmax=yes)
k = linear(g, to=x2)
l = matmul(j, k, left=token, right=positions)
m = linear(x, to=x2)
n = broadcast(f, m)
o = broadcast(l, n)
)",
};

}  // namespace kasimir
