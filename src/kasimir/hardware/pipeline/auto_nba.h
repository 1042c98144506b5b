// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/chunk.h"

#include <map>
#include <string>
#include <vector>

namespace kasimir {

/// The two input sizes that Auto-NBA's networks exist for.
enum class NbaInput { cifar, imagenet };

/// A network of Auto-NBA's space: 22 blocks, each `k3_e1`, `k3_e3`, `k3_e6`, `k5_..`, `.._g2` or `skip`, and the bits
/// of each block's weights and activations.
struct NbaNetwork {
  NbaInput input = NbaInput::cifar;
  std::vector<std::string> blocks;
  std::vector<int> bits;
};

/// The network of the example in the released code (commit 8ddaf3e, analytical_prediction.py).
NbaNetwork nba_example(NbaInput input);

/// @throws Error (input) unless there are 22 blocks of known names and as many positive bits.
void require_legal(const NbaNetwork& network);

/// A layer of a network in one of the cost modes, with the block it is from.
template <typename Layer>
struct Placed {
  Layer layer;
  int bits = 0;
  int block = -1;  ///< 0 .. 21; -1: stem, header, classifier
};

/// The layers as the released code makes them, faults included: a skipped block has no layer and does not use up its
/// bits, so that all later blocks have a neighbour's; 192 channels in stage 6; strides that change sizes too early.
std::vector<Placed<PaperLayer>> paper_layers(const NbaNetwork& network);

/// What else is in the network in cost mode `sound`.
struct NbaFrame {
  int edge_bits = 8;  ///< of stem, header and classifier; the released code's count of operations takes 8
  int classes = 10;
};
/// The layers of the network as it is trained: stem, blocks with the stride in the depthwise convolution, skips that
/// change the shape as 1 x 1 convolutions, header, classifier; 184 channels in stage 6.
std::vector<Placed<SoundLayer>> sound_layers(const NbaNetwork& network, const NbaFrame& frame = {});

/// The chunk that the released rule gives a layer: [dw]a0 for sizes of at least 16 (CIFAR) or 28 (ImageNet), else
/// [dw]a1, one of each for every bit width: "dwa1q8".
std::string nba_chunk(bool depthwise, double out_size, int bits, NbaInput input);

/// The released choices for a chunk of that name; `free_mode`: their comp_mode is searched too (else it is 1).
ChunkSpace nba_space(const std::string& chunk, NbaInput input, bool free_mode);

/// A chunk's layers, equal ones counted, so that shapes can be judged quickly.
template <typename Layer>
struct ChunkWork {
  std::string name;
  int bits = 0;
  bool depthwise = false;
  std::vector<Layer> layers;
  std::vector<double> times;
  void add(const Layer& layer);
};

/// Layers by chunk under the released rule, in the order of first use.
std::vector<ChunkWork<PaperLayer>> paper_chunks(const NbaNetwork& network);
std::vector<ChunkWork<SoundLayer>> sound_chunks(const NbaNetwork& network, const NbaFrame& frame = {});

ChunkCost chunk_cost(const ChunkWork<PaperLayer>& work, const ChunkShape& shape);
ChunkCost chunk_cost(const ChunkWork<SoundLayer>& work, const ChunkShape& shape);

/// A design for a network: the shape of each chunk by name. Chunks that no layer uses are passed over.
using NbaDesign = std::map<std::string, ChunkShape>;

/// What a network costs on a design.
struct NbaCost {
  double bottleneck = 0;  ///< cycles of the slowest chunk: one frame each
  std::string slowest;
  std::map<std::string, double> chunk_cycles;
  std::vector<double> block_cycles;  ///< 22; cost mode `sound`: without stem, header, classifier
  double outside_cycles = 0;         ///< of stem, header, classifier
  Resources resources;
  std::vector<Violation> violated;
  std::size_t layers = 0;
  /// Times one frame moves on to another chunk, plus one: each costs at most `bottleneck` cycles, so that a frame is
  /// done after `visits * bottleneck` cycles, with as many frames in flight.
  int visits = 0;
  [[nodiscard]] double fps(double clock_hz = 200e6) const { return clock_hz / bottleneck; }
};

/// @throws Error (input) if a chunk that is used has no shape in the design.
NbaCost paper_cost(const NbaNetwork& network, const NbaDesign& design, const ResourceBudget& budget);
NbaCost sound_cost(const NbaNetwork& network, const NbaDesign& design, const ResourceBudget& budget,
                   const NbaFrame& frame = {});

}  // namespace kasimir
