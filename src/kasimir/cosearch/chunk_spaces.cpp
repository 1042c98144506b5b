// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/cosearch/chunk_target.h"

namespace kasimir {
namespace {

constexpr std::size_t block_count = 22;

template <typename Layer>
void take_layers(const std::vector<Placed<Layer>>& placed, std::size_t op, std::size_t bits,
                 ChunkChoiceLayers& layers) {
  for (const Placed<Layer>& one : placed)
    if (one.block >= 0) layers.choices[static_cast<std::size_t>(one.block)][op][bits].push_back({one.layer, one.bits});
}

// In both cost modes a block's layers depend on its own operator only.
ChunkChoiceLayers nba_layers_of(const NbaTargetOptions& options) {
  ChunkChoiceLayers layers;
  layers.choices.assign(block_count, {nba_operators().size(), std::vector<std::vector<LayerUse>>(options.bits.size())});
  for (std::size_t op = 0; op < nba_operators().size(); ++op)
    for (std::size_t j = 0; j < options.bits.size(); ++j) {
      const NbaNetwork network{options.input, std::vector<std::string>(block_count, nba_operators()[op]),
                               std::vector<int>(block_count, options.bits[j])};
      if (options.mode == CostMode::paper) {
        take_layers(paper_layers(network), op, j, layers);
        continue;
      }
      const auto placed = sound_layers(network, options.frame);
      take_layers(placed, op, j, layers);
      if (op > 0 || j > 0) continue;
      for (const auto& one : placed)
        if (one.block < 0) layers.outside.push_back({one.layer, one.bits});
    }
  return layers;
}

}  // namespace

const std::vector<std::string>& nba_operators() {
  static const std::vector<std::string> names{"k3_e1",    "k3_e1_g2", "k3_e3", "k3_e6", "k5_e1",
                                              "k5_e1_g2", "k5_e3",    "k5_e6", "skip"};
  return names;
}

ChoiceSpace nba_choice_space(const std::vector<int>& bits) {
  ChoiceSpace space;
  for (std::size_t l = 0; l < block_count; ++l)
    space.blocks.push_back({fmt::format("block{}", l + 1), nba_operators()});
  space.bits = bits;
  return space;
}

NbaNetwork nba_network(const ChoiceDesign& design, const ChoiceSpace& space, NbaInput input) {
  require_legal(design, space);
  NbaNetwork network{input, {}, {}};
  for (std::size_t l = 0; l < design.size(); ++l) {
    network.blocks.push_back(space.blocks[l].ops[design[l].op]);
    network.bits.push_back(space.bits[design[l].bits]);
  }
  return network;
}

ChoiceDesign paper_reading(const ChoiceDesign& design, const ChoiceSpace& space) {
  ChoiceDesign read = design;
  std::size_t next = 0;
  for (std::size_t l = 0; l < design.size(); ++l)
    if (space.blocks[l].ops[design[l].op] != "skip") read[l].bits = design[next++].bits;
  return read;
}

ChunkTarget nba_target(const NbaTargetOptions& options) {
  return {nba_choice_space(options.bits),
          nba_layers_of(options),
          {.budget = options.budget,
           .input = options.input,
           .free_mode = options.free_mode,
           .solver_states = options.solver_states}};
}

ChunkTarget chunk_target(const ChoiceSpace& space, const BlockLayers& layers, const ChunkTargetOptions& options) {
  require_fit(layers, space);
  ChunkChoiceLayers all;
  for (std::size_t l = 0; l < space.blocks.size(); ++l) {
    all.choices.emplace_back();
    for (const std::vector<ConvLayer>& op : layers.layers[l]) {
      all.choices.back().emplace_back();
      for (const int bits : space.bits) {
        std::vector<LayerUse> uses;
        for (ConvLayer layer : op) {
          layer.bits = {bits, bits};
          uses.push_back({SoundLayer{layer, false}, bits});
        }
        all.choices.back().back().push_back(std::move(uses));
      }
    }
  }
  for (const ConvLayer& layer : layers.outside) all.outside.push_back({SoundLayer{layer, false}, layer.bits.widest()});
  return {space, all, options};
}

}  // namespace kasimir
