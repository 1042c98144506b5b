// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/auto_nba.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/hardware/pipeline/layer_traits.h"

#include <algorithm>

namespace kasimir {
namespace {

template <typename Layer>
std::vector<ChunkWork<Layer>> chunks_of(const std::vector<Placed<Layer>>& layers, NbaInput input) {
  std::vector<ChunkWork<Layer>> chunks;
  for (const Placed<Layer>& placed : layers) {
    const bool depthwise = is_depthwise(placed.layer);
    const std::string name = nba_chunk(depthwise, out_rows(placed.layer), placed.bits, input);
    auto at = std::find_if(chunks.begin(), chunks.end(), [&](const auto& chunk) { return chunk.name == name; });
    if (at == chunks.end()) at = chunks.insert(chunks.end(), {name, placed.bits, depthwise, {}, {}});
    at->add(placed.layer);
  }
  return chunks;
}

template <typename Layer>
ChunkCost cost_of_chunk(const ChunkWork<Layer>& work, const ChunkShape& shape) {
  ChunkCost cost;
  for (std::size_t i = 0; i < work.layers.size(); ++i)
    cost.add(cost_on(work.layers[i], shape, work.bits), work.times[i]);
  if (!work.layers.empty()) cost.add_overhead(overhead_dsp(work.layers.front()));
  return cost;
}

template <typename Layer>
NbaCost cost_of_network(const std::vector<Placed<Layer>>& layers, NbaInput input, const NbaDesign& design,
                        const ResourceBudget& budget) {
  NbaCost cost;
  cost.layers = layers.size();
  cost.block_cycles.assign(22, 0);
  std::map<std::string, ChunkCost> chunks;
  std::string before;
  for (const Placed<Layer>& placed : layers) {
    const std::string name = nba_chunk(is_depthwise(placed.layer), out_rows(placed.layer), placed.bits, input);
    const auto shape = design.find(name);
    if (shape == design.end())
      throw input_error("no shape for chunk `{}`, needed: one for each chunk that the network uses", name);
    const ChunkLayerCost one = cost_on(placed.layer, shape->second, placed.bits);
    if (!chunks.contains(name)) chunks[name].add_overhead(overhead_dsp(placed.layer));
    chunks[name].add(one);
    double& sum = placed.block < 0 ? cost.outside_cycles : cost.block_cycles[static_cast<std::size_t>(placed.block)];
    sum += one.cycles;
    if (name != before) ++cost.visits;
    before = name;
  }
  for (const auto& [name, chunk] : chunks) {
    cost.chunk_cycles[name] = chunk.cycles();
    cost.resources = cost.resources + chunk.resources();
    if (chunk.cycles() <= cost.bottleneck) continue;
    cost.bottleneck = chunk.cycles();
    cost.slowest = name;
  }
  cost.violated = violations(cost.resources, cost.bottleneck, budget);
  return cost;
}

}  // namespace

template <typename Layer>
void ChunkWork<Layer>::add(const Layer& layer) {
  const Layer kind = nameless(layer);
  const auto same = std::find(layers.begin(), layers.end(), kind);
  if (same != layers.end()) {
    times[static_cast<std::size_t>(same - layers.begin())] += 1;
    return;
  }
  layers.push_back(kind);
  times.push_back(1);
}
template struct ChunkWork<PaperLayer>;
template struct ChunkWork<SoundLayer>;

std::string nba_chunk(bool depthwise, double size, int bits, NbaInput input) {
  const bool large = size >= (input == NbaInput::cifar ? 16 : 28);
  return fmt::format("{}a{}q{}", depthwise ? "dw" : "", large ? 0 : 1, bits);
}

ChunkSpace nba_space(const std::string& chunk, NbaInput input, bool free_mode) {
  const bool depthwise = chunk.starts_with("dw");
  const bool large = chunk.find("a0") != std::string::npos;
  if (!large && chunk.find("a1") == std::string::npos)
    throw input_error("unknown chunk `{}`, needed: a0, a1, dwa0 or dwa1 with q and bits", chunk);
  const bool cifar = input == NbaInput::cifar;
  ChunkSpace space;
  space.depthwise = depthwise;
  space.modes = {1};
  if (free_mode) space.modes = depthwise ? std::vector<int>{0, 1} : std::vector<int>{0, 1, 2};
  if (large)
    space.tile_rows = cifar ? std::vector<int>{16, 8, 4, 2, 1} : std::vector<int>{28, 14, 7, 2, 1};
  else
    space.tile_rows = cifar ? std::vector<int>{4, 2, 1} : std::vector<int>{7, 2, 1};
  space.tile_cols = space.rows = space.cols = space.tile_rows;
  space.tile_out = large ? std::vector<int>{8, 4, 2, 1} : std::vector<int>{32, 16, 8, 4, 2, 1};
  space.out = space.tile_out;
  space.tile_in = space.in = depthwise ? std::vector<int>{1} : space.tile_out;
  return space;
}

std::vector<ChunkWork<PaperLayer>> paper_chunks(const NbaNetwork& network) {
  return chunks_of(paper_layers(network), network.input);
}
std::vector<ChunkWork<SoundLayer>> sound_chunks(const NbaNetwork& network, const NbaFrame& frame) {
  return chunks_of(sound_layers(network, frame), network.input);
}

ChunkCost chunk_cost(const ChunkWork<PaperLayer>& work, const ChunkShape& shape) { return cost_of_chunk(work, shape); }
ChunkCost chunk_cost(const ChunkWork<SoundLayer>& work, const ChunkShape& shape) { return cost_of_chunk(work, shape); }

NbaCost paper_cost(const NbaNetwork& network, const NbaDesign& design, const ResourceBudget& budget) {
  return cost_of_network(paper_layers(network), network.input, design, budget);
}
NbaCost sound_cost(const NbaNetwork& network, const NbaDesign& design, const ResourceBudget& budget,
                   const NbaFrame& frame) {
  return cost_of_network(sound_layers(network, frame), network.input, design, budget);
}

}  // namespace kasimir
