// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/chunk_costs.h"

#include "kasimir/hardware/pipeline/layer_traits.h"

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

bool no_worse(const ChunkLayerCost& a, const ChunkLayerCost& b) {
  return a.cycles <= b.cycles && a.resources.dsp <= b.resources.dsp && a.resources.bram18 <= b.resources.bram18 &&
         a.resources.lut <= b.resources.lut && a.resources.dram_bits <= b.resources.dram_bits;
}

bool beats(const std::vector<ChunkLayerCost>& a, const std::vector<ChunkLayerCost>& b) {
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
  std::vector<std::vector<ChunkLayerCost>> costs(shapes.size());
  std::vector<double> sums(shapes.size());
  for (std::size_t s = 0; s < shapes.size(); ++s) {
    costs[s] = costs_on(chunk, shapes[s]);
    sums[s] = all_cycles(costs[s]);
  }
  std::vector<std::size_t> order(shapes.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return sums[a] < sums[b]; });
  for (const std::size_t s : order) {
    const bool beaten = std::any_of(chunk.costs.rbegin(), chunk.costs.rend(),
                                    [&](const auto& other) { return beats(other, costs[s]); });
    if (beaten) continue;
    chunk.shapes.push_back(shapes[s]);
    chunk.costs.push_back(std::move(costs[s]));
  }
}

}  // namespace kasimir
