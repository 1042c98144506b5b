// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

namespace kasimir {

extern const Composite shuffled_groups_composite;
const Composite shuffled_groups_composite{
    .name = "shuffled_groups",
    .brief = "a grouped map of channels that come from all groups before",
    .source = "ShuffleNet, arXiv 1707.01083",
    .steps = R"(
a = shuffle(x, by=g)
b = group(a, by=g)
c = linear(b, to=x2)
)",
};

}  // namespace kasimir
