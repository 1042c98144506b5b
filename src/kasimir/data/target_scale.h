// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"

#include <vector>

namespace kasimir {

/// Brings each value of the training part to mean 0 and deviation 1, the test part by the same shift and factor. A
/// value that is constant keeps a factor of 1.
std::vector<ValueScale> bring_to_scale(ImageSet& train, ImageSet& test);

}  // namespace kasimir
