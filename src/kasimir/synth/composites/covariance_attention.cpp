// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite covariance_attention_composite;
const Composite covariance_attention_composite{
    .name = "covariance_attention",
    .brief = "attention of channels by their covariance",
    .source = "XCiT, arXiv 2106.09681, without heads",
    .steps = R"(
a = linear(x, to=x2)
b = linear(x, to=x2)
c = matmul(a, b, left=positions, right=positions, softmax=yes)
d = linear(x, to=x2)
e = matmul(c, d, left=token, right=channels)
)",
};

}  // namespace kasimir
