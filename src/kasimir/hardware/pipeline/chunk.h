// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/fpga.h"

#include <vector>

namespace kasimir {

/// One sub-accelerator of Auto-NBA's template (Fu et al., ICML 2021): a processing array with buffers that computes
/// its layers one after another, loop order tile columns, rows, output channels, input channels.
struct ChunkShape {
  /// What is unrolled. Standard: 0 output channels, 1 output x input channels, 2 output rows.
  /// Depthwise: 0 channels, 1 rows.
  int mode = 1;
  int tile_rows = 1, tile_cols = 1, tile_out = 1, tile_in = 1;  ///< on chip: their TrBuff, TcBuff, TmBuff, TnBuff
  int rows = 1, cols = 1, out = 1, in = 1;                      ///< unrolled: their Tr, Tc, Tm, Tn
  bool operator==(const ChunkShape&) const = default;
};

/// The choices for a chunk. Legal shapes unroll no more than their tile.
struct ChunkSpace {
  bool depthwise = false;
  std::vector<int> modes, tile_rows, tile_cols, tile_out, tile_in, rows, cols, out, in;
};

/// All legal shapes of a space, parameters in the order of ChunkShape, each list as it is written.
std::vector<ChunkShape> every_shape(const ChunkSpace& space);
/// every_shape without shapes that differ from a kept one only in parameters which their mode does not use; the kept
/// one has the smallest value. For each shape left out, the kept one is as fast and as small in both cost modes: the
/// unrolled sizes that a mode does not use enter the equations only as the halo, which grows with them.
std::vector<ChunkShape> effective_shapes(const ChunkSpace& space);

/// What a layer costs on a chunk. Cycles; per tile the first four, the layer's `cycles` altogether.
struct ChunkLayerCost {
  double compute = 0, read_input = 0, read_weights = 0, write_output = 0;
  double cycles = 0;
  Resources resources;  ///< what the chunk must have for this layer; dram_bits of the whole layer
};

/// Of costs [shape][layer], the shapes that no other one beats on every layer in cycles and all resources, by growing
/// sums of cycles; of equal ones the first.
std::vector<std::size_t> unbeaten_shapes(const std::vector<std::vector<ChunkLayerCost>>& costs);

/// A layer as the released code sees it. Channels are halved for two groups, so they are not whole in general.
struct PaperLayer {
  double cin = 1;  ///< 1 for a depthwise layer
  double cout = 1;
  double size = 1;  ///< rows and columns of the output
  double kernel = 1;
  bool depthwise = false;
  bool operator==(const PaperLayer&) const = default;
};

/// Cost mode `paper`: the equations of the released code (commit 8ddaf3e), with its faults: real-valued numbers of
/// tiles, the halo of the unrolled instead of the tiled rows, no stride, no weight buffers, bits / 16 of a DSP per
/// multiplier, no shared memory. Agrees with it to the last digit.
ChunkLayerCost paper_layer_cost(const PaperLayer& layer, const ChunkShape& shape, double bits);

/// A layer for cost mode `sound`.
struct SoundLayer {
  ConvLayer layer;
  bool adds_skip = false;  ///< a saved tensor is read and added to the output
  bool operator==(const SoundLayer&) const = default;
};

/// Cost mode `sound`: the same template, with whole tiles (clipped to the layer), the halo (T - 1) * stride + k,
/// groups one after another, 20 cycles to fill the arithmetic pipeline for each tile (Zhang et al., FPGA 2015), input
/// tiles double-buffered (the first is waited for), weights loaded before each tile, streams of 64 bits per cycle (one
/// Zynq HP port, AMD UG585), sums at full width in the output buffer, memories by the port shapes of the block RAM,
/// multipliers by DSP packing, and all traffic counted for the shared memory.
/// `bits`: of the chunk's arithmetic, at least those of the layer.
ChunkLayerCost sound_layer_cost(const SoundLayer& layer, const ChunkShape& shape, const LayerBits& bits);

/// DSP blocks of a chunk besides its multipliers, for addresses, in cost mode `sound`: HLS reports of the template
/// show 390 for 384 multipliers, 262 for 256, 102 for 96, 70 for 64, 22 for 16.
inline constexpr double chunk_address_dsp = 6;

/// What several layers cost on one chunk: cycles and traffic add up, the rest is what the most demanding one needs.
class ChunkCost {
 public:
  /// `times` equal layers.
  void add(const ChunkLayerCost& layer, double times = 1);
  /// Blocks that the chunk has besides.
  void add_overhead(double dsp) { overhead_.dsp += dsp; }
  [[nodiscard]] double cycles() const { return cycles_; }
  [[nodiscard]] Resources resources() const { return resources_ + overhead_; }

 private:
  double cycles_ = 0;
  Resources resources_, overhead_;
};

}  // namespace kasimir
