// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite shifts_composite;
const Composite shifts_composite{
    .name = "shifts",
    .brief = "the tensor beside two copies of it that are moved along an axis each",
    .source = "Shift, arXiv 1711.08141",
    .steps = R"(
a = shift(x, axes=h, by=1) | shift(x, axes=h, by=-1)
b = shift(x, axes=w, by=1) | shift(x, axes=w, by=-1)
c = concat(a, b)
d = concat(x, c)
)",
};

}  // namespace kasimir
