// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/auto_nba.h"
#include "kasimir/hardware/pipeline/solver.h"

#include <string>
#include <variant>
#include <vector>

namespace kasimir {

/// A layer in one of the cost modes, with the bits of the chunk that it needs.
struct LayerUse {
  std::variant<PaperLayer, SoundLayer> layer;
  int bits = 0;
};

/// The layers of each choice [block][operator][bits], and of what is outside.
struct ChunkChoiceLayers {
  std::vector<std::vector<std::vector<std::vector<LayerUse>>>> choices;
  std::vector<LayerUse> outside;
};

struct ChunkTargetOptions {
  ResourceBudget budget = auto_nba_budget();
  NbaInput input = NbaInput::cifar;  ///< whose sizes and tiles the chunks have
  bool free_mode = false;            ///< search what is unrolled too
  /// Of the exact solver; with fewer, it is faster and its answers need not be optimal.
  std::size_t solver_states = 200;
  std::string name = "pipeline";  ///< of descriptions
  double clock_mhz = 200;         ///< of descriptions: costs are cycles
};

/// Where a layer is in the costs: a chunk, and a kind of its layers.
struct LayerPlace {
  std::size_t chunk = 0;
  std::size_t kind = 0;
};

/// What the layers that may come to a chunk cost on its shapes; without shapes that another one beats on every layer.
struct ChunkCosts {
  std::string name;
  int bits = 0;
  double overhead_dsp = 0;
  std::vector<std::variant<PaperLayer, SoundLayer>> kinds;
  std::vector<ChunkShape> shapes;
  std::vector<std::vector<ChunkLayerCost>> costs;  ///< [shape][kind]

  /// `times` of each kind on a shape.
  [[nodiscard]] ChunkCost cost(std::size_t shape, const std::vector<double>& times) const;
};

/// The chunk of a layer under the released rule, in `chunks`, where it and the layer's kind are added if they are new.
LayerPlace place_layer(std::vector<ChunkCosts>& chunks, const LayerUse& use, NbaInput input);
/// What each kind of the chunk costs on a shape.
std::vector<ChunkLayerCost> costs_on(const ChunkCosts& chunk, const ChunkShape& shape);
/// Fills shapes and costs for the kinds placed.
void fill_costs(ChunkCosts& chunk, const ChunkTargetOptions& options);

}  // namespace kasimir
