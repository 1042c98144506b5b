// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/nba_search.h"

#include <array>
#include <functional>
#include <vector>

namespace kasimir {

/// The nine parameters of ChunkShape as places in the lists of a ChunkSpace.
inline constexpr std::size_t shape_parameters = 9;
using ShapeIndices = std::array<std::size_t, shape_parameters>;
const std::vector<int>& parameter_options(const ChunkSpace& space, std::size_t parameter);
ChunkShape shape_of(const ChunkSpace& space, const ShapeIndices& indices);
/// Whether an option may follow what `indices` has for the tile: unrolled sizes stay within their tile.
bool allowed(const ChunkSpace& space, const ShapeIndices& indices, std::size_t parameter, std::size_t option);
bool legal(const ChunkSpace& space, const ShapeIndices& indices);

/// A question made ready for many evaluations of designs.
class DesignSpace {
 public:
  explicit DesignSpace(const NbaQuestion& question);

  struct Cost {
    std::vector<double> cycles;  ///< of each chunk
    std::vector<Resources> resources;
    double bottleneck = 0;  ///< with the shared memory
    double overrun = 0;     ///< sum over dsp, bram18, lut of what passes the limit, as a share of it
    [[nodiscard]] bool fits() const { return overrun <= 0; }
  };
  [[nodiscard]] const std::vector<NbaChunk>& chunks() const { return chunks_; }
  /// Costs one shape for each chunk.
  [[nodiscard]] Cost cost(const std::vector<ShapeIndices>& design) const;
  [[nodiscard]] NbaDesign design(const std::vector<ShapeIndices>& indices) const;

 private:
  std::vector<NbaChunk> chunks_;
  std::vector<std::function<ChunkCost(const ChunkShape&)>> costs_;
  ResourceBudget budget_;
};

}  // namespace kasimir
