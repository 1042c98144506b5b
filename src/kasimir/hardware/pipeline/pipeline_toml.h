// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/format/timeloop.h"
#include "kasimir/hardware/pipeline/chunk.h"

#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// One chunk of a pipeline that is decided, with the layers that it computes one after another.
struct DescribedChunk {
  std::string name;
  bool depthwise = false;
  int bits = 8;  ///< of its arithmetic
  ChunkShape shape;
  std::vector<SoundLayer> layers;  ///< with their own bits
  bool operator==(const DescribedChunk&) const = default;
};

/// A pipeline of chunks that is decided, as one program hands it to another. Costs are those of cost mode `sound`.
struct PipelineDescription {
  std::string name;
  double clock_mhz = 200;
  ResourceBudget budget = unlimited();
  std::vector<DescribedChunk> chunks;
  bool operator==(const PipelineDescription&) const = default;
};

/// What a chunk takes for one frame.
ChunkCost cost_of(const DescribedChunk& chunk);
/// Cycles per frame: those of the slowest chunk, or what the shared memory needs where that is more.
double cycles_of(const PipelineDescription& pipeline);

/// TOML that parse_pipeline reads back to an equal description.
std::string to_toml(const PipelineDescription& pipeline);
/// @throws Error (input) with file, line and column for unknown or missing keys, shapes that unroll more than their
/// tile and layers that are not legal.
PipelineDescription parse_pipeline(std::string_view toml, const std::string& file);

/// A chunk with one of its layers in Timeloop's words: the shared memory, buffers for the largest tiles of the chunk's
/// layers, a grid of multipliers, and the loops in the template's order. `lost` says what the format has no word for.
/// @throws Error (input) for a layer with whose rows or columns a problem cannot be posed.
FormatText timeloop_text(const DescribedChunk& chunk, std::size_t layer, double clock_mhz);

}  // namespace kasimir
