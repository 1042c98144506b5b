// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/design_space.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr std::size_t first_tile = 1, first_unrolled = 5;

template <typename Layer>
void add_costs(std::vector<std::function<ChunkCost(const ChunkShape&)>>& costs,
               const std::vector<ChunkWork<Layer>>& works) {
  for (const ChunkWork<Layer>& work : works)
    costs.push_back([work](const ChunkShape& shape) { return chunk_cost(work, shape); });
}

double over(double used, double limit) { return std::isfinite(limit) ? std::max(0.0, used / limit - 1) : 0; }

}  // namespace

const std::vector<int>& parameter_options(const ChunkSpace& space, std::size_t parameter) {
  constexpr std::array<std::vector<int> ChunkSpace::*, shape_parameters> lists{
      &ChunkSpace::modes, &ChunkSpace::tile_rows, &ChunkSpace::tile_cols, &ChunkSpace::tile_out, &ChunkSpace::tile_in,
      &ChunkSpace::rows,  &ChunkSpace::cols,      &ChunkSpace::out,       &ChunkSpace::in};
  return space.*lists.at(parameter);
}

ChunkShape shape_of(const ChunkSpace& space, const ShapeIndices& indices) {
  const auto at = [&](std::size_t p) { return parameter_options(space, p)[indices[p]]; };
  return {at(0), at(1), at(2), at(3), at(4), at(5), at(6), at(7), at(8)};
}

bool allowed(const ChunkSpace& space, const ShapeIndices& indices, std::size_t parameter, std::size_t option) {
  if (parameter < first_unrolled) return true;
  const std::size_t tile = parameter - first_unrolled + first_tile;
  return parameter_options(space, parameter)[option] <= parameter_options(space, tile)[indices[tile]];
}

bool legal(const ChunkSpace& space, const ShapeIndices& indices) {
  for (std::size_t p = first_unrolled; p < shape_parameters; ++p)
    if (!allowed(space, indices, p, indices[p])) return false;
  return true;
}

DesignSpace::DesignSpace(const NbaQuestion& question) : chunks_(nba_chunks(question)), budget_(question.budget) {
  if (chunks_.empty()) throw input_error("all 22 blocks are skipped, needed: at least one layer");
  if (question.mode == CostMode::paper)
    add_costs(costs_, paper_chunks(question.network));
  else
    add_costs(costs_, sound_chunks(question.network, question.frame));
}

DesignSpace::Cost DesignSpace::cost(const std::vector<ShapeIndices>& design) const {
  Cost cost;
  Resources total;
  for (std::size_t c = 0; c < chunks_.size(); ++c) {
    const ChunkCost chunk = costs_[c](shape_of(chunks_[c].space, design[c]));
    cost.cycles.push_back(chunk.cycles());
    cost.resources.push_back(chunk.resources());
    total = total + chunk.resources();
    cost.bottleneck = std::max(cost.bottleneck, chunk.cycles());
  }
  cost.bottleneck = std::max(cost.bottleneck, total.dram_bits / budget_.dram_bits_per_cycle);
  cost.overrun = over(total.dsp, budget_.dsp) + over(total.bram18, budget_.bram18) + over(total.lut, budget_.lut);
  return cost;
}

NbaDesign DesignSpace::design(const std::vector<ShapeIndices>& indices) const {
  NbaDesign shapes;
  for (std::size_t c = 0; c < chunks_.size(); ++c) shapes[chunks_[c].name] = shape_of(chunks_[c].space, indices[c]);
  return shapes;
}

}  // namespace kasimir
