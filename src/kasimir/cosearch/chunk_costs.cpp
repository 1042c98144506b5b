// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/chunk_costs.h"

#include "kasimir/hardware/pipeline/layer_traits.h"

#include <algorithm>

namespace kasimir {

ChunkCost ChunkCosts::cost(std::size_t shape, const std::vector<double>& times) const {
  ChunkCost sum;
  for (std::size_t kind = 0; kind < times.size(); ++kind)
    if (times[kind] > 0) sum.add(costs[shape][kind], times[kind]);
  sum.add_overhead(overhead_dsp);
  return sum;
}

LayerPlace place_layer(std::vector<ChunkCosts>& chunks, const LayerUse& use, NbaInput input) {
  const auto kind = std::visit([](const auto& layer) { return decltype(use.layer)(nameless(layer)); }, use.layer);
  const bool depthwise = std::visit([](const auto& layer) { return is_depthwise(layer); }, use.layer);
  const double rows = std::visit([](const auto& layer) { return out_rows(layer); }, use.layer);
  const std::string name = nba_chunk(depthwise, rows, use.bits, input);
  auto at = std::find_if(chunks.begin(), chunks.end(), [&](const ChunkCosts& chunk) { return chunk.name == name; });
  if (at == chunks.end()) {
    const double overhead = std::visit([](const auto& layer) { return overhead_dsp(layer); }, use.layer);
    at = chunks.insert(chunks.end(), ChunkCosts{name, use.bits, overhead, {}, {}, {}});
  }
  auto same = std::find(at->kinds.begin(), at->kinds.end(), kind);
  if (same == at->kinds.end()) same = at->kinds.insert(at->kinds.end(), kind);
  return {static_cast<std::size_t>(at - chunks.begin()), static_cast<std::size_t>(same - at->kinds.begin())};
}

std::vector<ChunkLayerCost> costs_on(const ChunkCosts& chunk, const ChunkShape& shape) {
  std::vector<ChunkLayerCost> costs;
  for (const auto& kind : chunk.kinds)
    costs.push_back(std::visit([&](const auto& layer) { return cost_on(layer, shape, chunk.bits); }, kind));
  return costs;
}

void fill_costs(ChunkCosts& chunk, const ChunkTargetOptions& options) {
  const std::vector<ChunkShape> shapes = effective_shapes(nba_space(chunk.name, options.input, options.free_mode));
  std::vector<std::vector<ChunkLayerCost>> costs;
  for (const ChunkShape& shape : shapes) costs.push_back(costs_on(chunk, shape));
  for (const std::size_t s : unbeaten_shapes(costs)) {
    chunk.shapes.push_back(shapes[s]);
    chunk.costs.push_back(std::move(costs[s]));
  }
}

}  // namespace kasimir
