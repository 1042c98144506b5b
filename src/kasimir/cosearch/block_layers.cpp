// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/block_layers.h"

#include "kasimir/base/error.h"

namespace kasimir {

void require_fit(const BlockLayers& layers, const ChoiceSpace& space) {
  require_legal(space);
  if (layers.layers.size() != space.blocks.size())
    throw input_error("layers of {} blocks, needed: of {}", layers.layers.size(), space.blocks.size());
  for (std::size_t l = 0; l < space.blocks.size(); ++l) {
    if (layers.layers[l].size() != space.blocks[l].ops.size())
      throw input_error("layers of {} operators in block {}, needed: of {}", layers.layers[l].size(),
                        space.blocks[l].name, space.blocks[l].ops.size());
    for (std::size_t o = 0; o < space.blocks[l].ops.size(); ++o)
      for (const ConvLayer& layer : layers.layers[l][o])
        require_legal(layer, fmt::format("block {}, operator {}", space.blocks[l].name, space.blocks[l].ops[o]));
  }
  for (const ConvLayer& layer : layers.outside) require_legal(layer, "outside the blocks");
}

}  // namespace kasimir
