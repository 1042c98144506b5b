// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/auto_nba.h"
#include "kasimir/hardware/pipeline/solver.h"

#include <cstdint>
#include <vector>

namespace kasimir {

/// What chunks may be built of: a chunk takes a shape of one of the spaces of its kind.
struct AssignmentSpace {
  std::vector<ChunkSpace> standard, depthwise;
};
/// Auto-NBA's four spaces, two of each kind.
AssignmentSpace nba_spaces(NbaInput input, bool free_mode);

/// Spaces for any network: tiles of 1 to 16 rows and 4 to 16 columns, 1 to 64 channels, all modes.
AssignmentSpace general_spaces();

/// A list of layers for assign_layers: each with the wider of its two bit widths.
std::vector<Placed<SoundLayer>> placed_layers(const std::vector<ConvLayer>& layers);

struct AssignmentLimits {
  std::size_t max_chunks = 12;
  std::size_t evaluations = 1000;   ///< assignments judged by the pipeline solver
  std::size_t exact_limit = 20000;  ///< assignments enumerated at most for a proof
  std::uint64_t seed = 1;
};

/// A chunk that the search made up. Its arithmetic is as wide as its widest layer; narrower layers run on it at the
/// same speed, so that the number of chunks does not depend on the number of bit widths.
struct AssignedChunk {
  bool depthwise = false;
  int bits = 0;
  ChunkShape shape;
  double cycles = 0;
  Resources resources;
  std::vector<std::size_t> layers;  ///< places in the list of layers
};

struct AssignmentAnswer {
  bool found = false;  ///< a design within the budget
  double cycles = 0;   ///< per frame
  /// No assignment to at most max_chunks chunks, with any shapes, is faster.
  double lower_bound = 0;
  bool exhaustive = false;  ///< all assignments were judged: `cycles` is the optimum
  std::vector<AssignedChunk> chunks;
  Resources resources;
  std::vector<Violation> violated;  ///< if !found: what the nearest design breaks
  /// The fewest cycles seen with each number of chunks, from 1; infinity where none was seen to fit.
  std::vector<double> by_chunks;
  std::size_t evaluations = 0;
  [[nodiscard]] double gap() const { return lower_bound > 0 ? cycles / lower_bound - 1 : 0; }
};

/// Searches which layers share a chunk, how many chunks there are, and their shapes. Few layers: all partitions, pruned
/// by the fastest option of each chunk (exact). Else from several starts with random moves of layers between chunks,
/// each judged by solve_pipeline, beside a proved bound: for prices p of the shared amounts and of a place for a chunk
/// that add up to 1 as shares of the budget, cycles >= sum over layers of min over shapes (cycles x priced shares);
/// the prices are improved by mirror ascent. Deterministic for a seed. @throws Error (input) without layers or chunks.
AssignmentAnswer assign_layers(const std::vector<Placed<PaperLayer>>& layers, const AssignmentSpace& space,
                               const ResourceBudget& budget, const AssignmentLimits& limits = {});
AssignmentAnswer assign_layers(const std::vector<Placed<SoundLayer>>& layers, const AssignmentSpace& space,
                               const ResourceBudget& budget, const AssignmentLimits& limits = {});

}  // namespace kasimir
