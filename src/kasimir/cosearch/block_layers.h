// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch/space.h"
#include "kasimir/hardware/pipeline/layer.h"

#include <vector>

namespace kasimir {

/// Any network: convolutions of each [block][operator], for one image, whose bits are set by the choice, and those
/// outside all blocks with their own bits.
struct BlockLayers {
  std::vector<std::vector<std::vector<ConvLayer>>> layers;
  std::vector<ConvLayer> outside;
};
/// @throws Error (input) if the lists do not fit the space or a layer is not legal.
void require_fit(const BlockLayers& layers, const ChoiceSpace& space);

}  // namespace kasimir
