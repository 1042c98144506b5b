// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/division.h"
#include "kasimir/base/error.h"
#include "kasimir/hardware/pipeline/chunk.h"

#include <algorithm>
#include <bit>

namespace kasimir {
namespace {

// One stream to the shared memory: an HP port of Zynq is 64 bits wide (AMD UG585).
constexpr std::int64_t port_bits = 64;
// Cycles until the first product of a tile is added (Zhang et al., FPGA 2015).
constexpr double pipeline_fill = 20;
// The accumulator of a DSP48 (AMD UG479).
constexpr std::int64_t widest_sum = 48;

// A tile and the counts that follow from it, for one group of the layer.
struct Tile {
  std::int64_t rows, cols, out, in;  // of the output tile, clipped to the layer
  std::int64_t in_rows, in_cols;     // with halo
  std::int64_t row_tiles, col_tiles, out_tiles, in_tiles;
  std::int64_t window;
};

Tile tile_of(const ConvLayer& l, const ChunkShape& s) {
  const std::int64_t cout = l.depthwise() ? l.cout : l.cout / l.groups;
  const std::int64_t cin = l.depthwise() ? 1 : l.cin / l.groups;
  Tile t{};
  t.rows = std::min<std::int64_t>(s.tile_rows, l.out_h());
  t.cols = std::min<std::int64_t>(s.tile_cols, l.out_w());
  t.out = std::min<std::int64_t>(s.tile_out, cout);
  t.in = std::min<std::int64_t>(s.tile_in, cin);
  t.in_rows = (t.rows - 1) * l.stride + l.kernel_h;
  t.in_cols = (t.cols - 1) * l.stride + l.kernel_w;
  t.row_tiles = ceil_div(l.out_h(), t.rows);
  t.col_tiles = ceil_div(l.out_w(), t.cols);
  t.out_tiles = ceil_div(cout, t.out);
  t.in_tiles = ceil_div(cin, t.in);
  t.window = static_cast<std::int64_t>(l.kernel_h) * l.kernel_w;
  return t;
}

// Parallel banks of the three buffers, and the multipliers: `sharing` of them have a factor in common.
struct Lanes {
  std::int64_t input, weight, output, sharing, copies;
};

Lanes lanes_of(const ChunkShape& s, bool depthwise, const Tile& t) {
  if (depthwise && s.mode == 0) return {s.out, s.out, s.out, 1, s.out};
  if (depthwise || s.mode == 2) return {t.in_rows, 1, s.rows, s.rows, 1};
  if (s.mode == 0) return {s.in, s.out, s.out, s.out, 1};
  return {s.in, static_cast<std::int64_t>(s.out) * s.in, s.out, s.out, s.in};
}

std::int64_t multiply_steps(const ChunkShape& s, bool depthwise, const Tile& t) {
  if (depthwise)
    return s.mode == 0 ? ceil_div(t.out, s.out) * t.rows * t.cols * t.window
                       : t.out * ceil_div(t.rows, s.rows) * t.cols * t.window;
  if (s.mode == 0) return ceil_div(t.out, s.out) * t.in * t.rows * t.cols * t.window;
  if (s.mode == 1) return ceil_div(t.out, s.out) * ceil_div(t.in, s.in) * t.rows * t.cols * t.window;
  return t.out * t.in * ceil_div(t.rows, s.rows) * t.cols * t.window;
}

// Cycles to move words between the shared memory and banks of two ports each.
double transfer(std::int64_t words, std::int64_t lanes, int bits) {
  const std::int64_t per_cycle = std::min(std::max<std::int64_t>(port_bits / bits, 1), 2 * lanes);
  return static_cast<double>(ceil_div(words, per_cycle) * ceil_div(bits, port_bits));
}

void add_memory(Resources& resources, std::int64_t banks, std::int64_t width, std::int64_t words) {
  const MemoryCost one = memory_cost(width, ceil_div(words, banks));
  resources.bram18 += static_cast<double>(banks * one.bram18);
  resources.lut += static_cast<double>(banks * one.lut);
}

std::int64_t sum_bits(const ConvLayer& l, const LayerBits& bits) {
  const auto terms = static_cast<std::uint64_t>(l.gemm().k);
  return std::min<std::int64_t>(widest_sum, bits.weight + bits.activation + std::bit_width(terms - 1));
}

Resources resources_of(const ConvLayer& l, const Tile& t, const Lanes& lanes, const LayerBits& bits) {
  Resources r;
  const std::int64_t multipliers = lanes.sharing * lanes.copies;
  const std::int64_t dsp = dsp_count(lanes.sharing, lanes.copies, bits);
  const std::int64_t sum = sum_bits(l, bits);
  r.dsp = static_cast<double>(dsp);
  // Four packed products leave no room to add up inside the block: one adder in look-up tables for each further
  // product, a table for each bit (AMD UG474, carry chains).
  if (bits.widest() <= 4) r.lut += static_cast<double>((multipliers - dsp) * sum);
  const std::int64_t in_channels = l.depthwise() ? t.out : t.in;
  add_memory(r, lanes.input, bits.activation, in_channels * t.in_rows * t.in_cols);
  add_memory(r, lanes.input, bits.activation, in_channels * t.in_rows * t.in_cols);
  add_memory(r, lanes.weight, bits.weight, t.out * t.in * t.window);
  add_memory(r, lanes.output, sum, t.out * t.rows * t.cols);
  return r;
}

double traffic_bits(const SoundLayer& sound, const Tile& t, const LayerBits& bits) {
  const ConvLayer& l = sound.layer;
  const std::int64_t tiles = t.row_tiles * t.col_tiles * t.out_tiles;
  const std::int64_t in_channels = l.depthwise() ? t.out : t.in;
  const std::int64_t read_rows = std::min<std::int64_t>(t.in_rows, l.height);
  const std::int64_t read_cols = std::min<std::int64_t>(t.in_cols, l.width);
  const std::int64_t inputs = tiles * t.in_tiles * in_channels * read_rows * read_cols;
  const std::int64_t weights = tiles * t.in_tiles * t.out * t.in * t.window;
  const std::int64_t groups = l.depthwise() ? 1 : l.groups;
  const std::int64_t outputs = l.outputs() * (sound.adds_skip ? 2 : 1);
  return static_cast<double>(groups * (inputs * bits.activation + weights * bits.weight) + outputs * bits.activation);
}

}  // namespace

ChunkLayerCost sound_layer_cost(const SoundLayer& sound, const ChunkShape& shape, const LayerBits& bits) {
  const ConvLayer& l = sound.layer;
  const bool depthwise = l.depthwise();
  KASIMIR_CHECK(shape.mode >= 0 && shape.mode <= (depthwise ? 1 : 2), "mode {}", shape.mode);
  const Tile t = tile_of(l, shape);
  const Lanes lanes = lanes_of(shape, depthwise, t);
  const std::int64_t in_channels = depthwise ? t.out : t.in;
  ChunkLayerCost cost;
  cost.compute = static_cast<double>(multiply_steps(shape, depthwise, t)) + pipeline_fill;
  cost.read_input = transfer(in_channels * t.in_rows * t.in_cols, lanes.input, bits.activation);
  cost.read_weights = transfer(t.out * t.in * t.window, lanes.weight, bits.weight);
  const double moved = transfer(t.out * t.rows * t.cols, lanes.output, bits.activation);
  const double clear = static_cast<double>(ceil_div(t.out * t.rows * t.cols, lanes.output));
  cost.write_output = moved * (sound.adds_skip ? 2 : 1) + clear;

  // Inputs of the next step are read during this one, except for the first. Steps go over input channels; a depthwise
  // layer has one, its steps go over channels, each with an output.
  const auto steps = static_cast<double>(depthwise ? t.out_tiles : t.in_tiles);
  const double reading = cost.read_input + (steps - 1) * std::max(cost.compute, cost.read_input) + cost.compute;
  const double writes = depthwise ? steps : 1;
  const double pass = reading + steps * cost.read_weights + writes * cost.write_output;
  const auto passes = static_cast<double>(t.row_tiles * t.col_tiles * (depthwise ? 1 : t.out_tiles * l.groups));
  cost.cycles = passes * pass;
  cost.resources = resources_of(l, t, lanes, bits);
  cost.resources.dram_bits = traffic_bits(sound, t, bits);
  return cost;
}

}  // namespace kasimir
