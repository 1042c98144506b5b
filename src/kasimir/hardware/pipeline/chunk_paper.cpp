// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/chunk.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

// Words per cycle of a port to the memory, 2 to 4.
double port_words(double lanes) { return std::max(std::min(4.0, lanes), 2.0); }

// The shape in doubles, and the two sizes of the input tile with their halo of the unrolled sizes.
struct Tile {
  Tile(const PaperLayer& layer, const ChunkShape& shape)
      : rows(shape.tile_rows),
        cols(shape.tile_cols),
        out(shape.tile_out),
        in(shape.tile_in),
        unrolled_rows(shape.rows),
        unrolled_out(shape.out),
        unrolled_in(shape.in),
        in_rows(std::max(shape.rows + layer.kernel - 1, rows)),
        in_cols(std::max(shape.cols + layer.kernel - 1, cols)) {}
  double rows, cols, out, in, unrolled_rows, unrolled_out, unrolled_in, in_rows, in_cols;
};

// Block RAMs of 18,000 bits.
double banks(double words, double bits) { return std::ceil(words * bits / 18000.0); }

double write_output(const Tile& t, bool by_rows, double scale) {
  const double lanes = by_rows ? t.unrolled_rows : t.unrolled_out;
  const double drain = std::ceil(t.out * t.rows * t.cols / port_words(lanes));
  const double clear =
      by_rows ? t.cols * t.out * (t.rows / t.unrolled_rows) : t.rows * t.cols * (t.out / t.unrolled_out);
  return (drain + clear) * scale;
}

ChunkLayerCost standard_cost(const PaperLayer& layer, const ChunkShape& shape, double bits) {
  const Tile t(layer, shape);
  const double k = layer.kernel, scale = bits / 16;
  const bool by_rows = shape.mode == 2;
  const double multipliers =
      by_rows ? t.unrolled_rows : (shape.mode == 1 ? t.unrolled_out * t.unrolled_in : t.unrolled_out);
  ChunkLayerCost cost;
  cost.compute = t.out * t.in * t.rows * t.cols * k * k / multipliers;
  cost.read_input = std::ceil(t.in * t.in_cols * t.in_rows / port_words(by_rows ? t.in_rows : t.unrolled_in)) * scale;
  cost.read_weights =
      by_rows ? t.out * t.in * k * scale : std::ceil(t.out * t.in * k * k / port_words(t.unrolled_out)) * scale;
  cost.write_output = write_output(t, by_rows, scale);
  const double step = std::max(cost.compute, cost.read_input) + cost.read_weights;
  const double inner = cost.write_output + step * (layer.cin / t.in);
  cost.cycles = inner * (layer.size / t.cols) * (layer.size / t.rows) * (layer.cout / t.out);

  cost.resources.dsp = multipliers * scale;
  if (by_rows) {
    cost.resources.bram18 = t.in_rows * banks(t.in_cols * t.in, bits) * 2 +
                            t.unrolled_rows * banks(t.cols * t.out, bits) + k * banks(k * t.out * t.in, bits);
  } else {
    cost.resources.bram18 = t.unrolled_in * banks(t.in_rows * t.in_cols * (t.in / t.unrolled_in), bits) * 2 +
                            t.unrolled_out * banks(t.rows * t.cols * (t.out / t.unrolled_out), bits);
  }
  return cost;
}

ChunkLayerCost depthwise_cost(const PaperLayer& layer, const ChunkShape& shape, double bits) {
  const Tile t(layer, shape);
  const double k = layer.kernel, scale = bits / 16;
  const bool by_rows = shape.mode == 1;
  const double multipliers = by_rows ? t.unrolled_rows : t.unrolled_out;
  ChunkLayerCost cost;
  cost.compute = t.out * t.rows * t.cols * k * k / multipliers;
  // Their test for rows asks for mode 2, which a depthwise chunk never has.
  cost.read_input = std::ceil(t.out * t.in_cols * t.in_rows / port_words(t.unrolled_out)) * scale;
  cost.read_weights = by_rows ? t.out * k * scale : std::ceil(t.out * k * k / port_words(t.unrolled_out)) * scale;
  cost.write_output = write_output(t, by_rows, scale);
  const double step = std::max(cost.compute, cost.read_input) + cost.read_weights + cost.write_output;
  cost.cycles = (layer.size / t.cols) * (layer.size / t.rows) * (layer.cout / t.out) * step;

  cost.resources.dsp = multipliers * scale;
  if (by_rows) {
    cost.resources.bram18 = t.in_rows * banks(t.in_cols, bits) * 2 + t.unrolled_rows * banks(t.cols * t.out, bits) +
                            k * banks(k * t.out, bits);
  } else {
    cost.resources.bram18 = t.unrolled_out * banks(t.in_rows * t.in_cols * (t.out / t.unrolled_out), bits) * 2 +
                            t.unrolled_out * banks(t.rows * t.cols * (t.out / t.unrolled_out), bits);
  }
  return cost;
}

}  // namespace

ChunkLayerCost paper_layer_cost(const PaperLayer& layer, const ChunkShape& shape, double bits) {
  if (!layer.depthwise) {
    KASIMIR_CHECK(shape.mode >= 0 && shape.mode <= 2, "mode {} of a standard chunk", shape.mode);
    return standard_cost(layer, shape, bits);
  }
  KASIMIR_CHECK(shape.mode == 0 || shape.mode == 1, "mode {} of a depthwise chunk", shape.mode);
  KASIMIR_CHECK(shape.tile_in == 1, "{} input channels in a tile of a depthwise chunk", shape.tile_in);
  return depthwise_cost(layer, shape, bits);
}

}  // namespace kasimir
