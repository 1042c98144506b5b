// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/chunk.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

std::vector<int> within(const std::vector<int>& options, int limit) {
  std::vector<int> kept;
  for (const int option : options)
    if (option <= limit) kept.push_back(option);
  return kept;
}

std::vector<int> smallest(const std::vector<int>& options) {
  return {*std::min_element(options.begin(), options.end())};
}

// The lists of unrolled sizes with one value where the mode does not use them. Depthwise mode 1 reads its input
// through as many ports as channels are unrolled, so that they stay.
ChunkSpace used_only(const ChunkSpace& space, int mode) {
  ChunkSpace used = space;
  used.modes = {mode};
  used.cols = smallest(space.cols);
  const bool unrolls_rows = space.depthwise ? mode == 1 : mode == 2;
  if (!unrolls_rows) used.rows = smallest(space.rows);
  if (mode == 2) {
    used.out = smallest(space.out);
    used.in = smallest(space.in);
  }
  return used;
}

struct Pair {
  int tile, unrolled;
};

std::vector<Pair> pairs(const std::vector<int>& tiles, const std::vector<int>& unrolled) {
  std::vector<Pair> all;
  for (const int tile : tiles)
    for (const int u : within(unrolled, tile)) all.push_back({tile, u});
  return all;
}

bool no_worse(const ChunkLayerCost& a, const ChunkLayerCost& b) {
  return a.cycles <= b.cycles && a.resources.dsp <= b.resources.dsp && a.resources.bram18 <= b.resources.bram18 &&
         a.resources.lut <= b.resources.lut && a.resources.dram_bits <= b.resources.dram_bits;
}

bool no_worse(const std::vector<ChunkLayerCost>& a, const std::vector<ChunkLayerCost>& b) {
  for (std::size_t i = 0; i < a.size(); ++i)
    if (!no_worse(a[i], b[i])) return false;
  return true;
}

double all_cycles(const std::vector<ChunkLayerCost>& costs) {
  double sum = 0;
  for (const ChunkLayerCost& cost : costs) sum += cost.cycles;
  return sum;
}

}  // namespace

std::vector<ChunkShape> every_shape(const ChunkSpace& space) {
  std::vector<ChunkShape> shapes;
  const std::vector<Pair> rows = pairs(space.tile_rows, space.rows), cols = pairs(space.tile_cols, space.cols);
  const std::vector<Pair> outs = pairs(space.tile_out, space.out), ins = pairs(space.tile_in, space.in);
  shapes.reserve(space.modes.size() * rows.size() * cols.size() * outs.size() * ins.size());
  const std::size_t per_mode = rows.size() * cols.size() * outs.size() * ins.size();
  for (const int mode : space.modes)
    for (std::size_t i = 0; i < per_mode; ++i) {
      const Pair& in = ins[i % ins.size()];
      const Pair& out = outs[i / ins.size() % outs.size()];
      const Pair& col = cols[i / ins.size() / outs.size() % cols.size()];
      const Pair& row = rows[i / ins.size() / outs.size() / cols.size()];
      shapes.push_back(
          {mode, row.tile, col.tile, out.tile, in.tile, row.unrolled, col.unrolled, out.unrolled, in.unrolled});
    }
  return shapes;
}

std::vector<ChunkShape> effective_shapes(const ChunkSpace& space) {
  std::vector<ChunkShape> shapes;
  for (const int mode : space.modes) {
    const std::vector<ChunkShape> some = every_shape(used_only(space, mode));
    shapes.insert(shapes.end(), some.begin(), some.end());
  }
  return shapes;
}

std::vector<std::size_t> unbeaten_shapes(const std::vector<std::vector<ChunkLayerCost>>& costs) {
  std::vector<double> sums;
  for (const auto& row : costs) sums.push_back(all_cycles(row));
  std::vector<std::size_t> order(costs.size()), kept;
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sums[a] < sums[b]; });
  for (const std::size_t s : order)
    if (std::none_of(kept.rbegin(), kept.rend(), [&](std::size_t other) { return no_worse(costs[other], costs[s]); }))
      kept.push_back(s);
  return kept;
}

void ChunkCost::add(const ChunkLayerCost& layer, double times) {
  cycles_ += times * layer.cycles;
  resources_.dsp = std::max(resources_.dsp, layer.resources.dsp);
  resources_.bram18 = std::max(resources_.bram18, layer.resources.bram18);
  resources_.lut = std::max(resources_.lut, layer.resources.lut);
  resources_.dram_bits += times * layer.resources.dram_bits;
}

}  // namespace kasimir
