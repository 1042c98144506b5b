// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/assignment.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"
#include "kasimir/hardware/pipeline/engine_table.h"
#include "kasimir/hardware/pipeline/layer_traits.h"

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

using Group = std::vector<std::size_t>;
using Partition = std::vector<Group>;

class AssignmentSearch {
 public:
  AssignmentSearch(EngineTable& table, const ResourceBudget& budget, const AssignmentLimits& limits)
      : table_(table), budget_(budget), limits_(limits), rng_(limits.seed) {
    best_.by_chunks.assign(limits.max_chunks, infinity);
    best_.cycles = infinity;
  }

  AssignmentAnswer run() {
    best_.lower_bound = table_.lower_bound(limits_.max_chunks);
    best_.exhaustive = exhaust();
    if (!best_.exhaustive) climb();
    if (best_.found && best_.exhaustive) best_.lower_bound = best_.cycles;
    best_.lower_bound = std::min(best_.lower_bound, best_.cycles);
    return best_;
  }

 private:
  // Cycles per frame; infinity if nothing fits.
  double judge(const Partition& groups) {
    ++best_.evaluations;
    PipelineProblem problem;
    problem.budget = budget_;
    for (const Group& group : groups) problem.options.push_back(table_.options(group));
    const PipelineAnswer answer = solve_pipeline(problem, {.states = 500, .relax = false});
    const bool better = answer.found ? !best_.found || answer.cycles < best_.cycles
                                     : !best_.found && (best_.chunks.empty() || overshoot(answer) < overshoot_);
    if (answer.found) {
      double& by_chunks = best_.by_chunks[groups.size() - 1];
      by_chunks = std::min(by_chunks, answer.cycles);
    }
    if (better) keep(groups, problem, answer);
    return answer.found ? answer.cycles : infinity;
  }

  static double overshoot(const PipelineAnswer& answer) {
    double worst = 0;
    for (const Violation& violation : answer.violated) worst = std::max(worst, violation.used / violation.limit);
    return worst;
  }

  void keep(const Partition& groups, const PipelineProblem& problem, const PipelineAnswer& answer) {
    best_.found = answer.found;
    best_.cycles = answer.cycles;
    best_.resources = answer.resources;
    best_.violated = answer.violated;
    overshoot_ = overshoot(answer);
    best_.chunks.clear();
    for (std::size_t c = 0; c < groups.size(); ++c) {
      const ChunkOption& option = problem.options[c][answer.choice[c]];
      const bool depthwise = table_.items()[groups[c].front()].depthwise;
      best_.chunks.push_back({depthwise, table_.bits(groups[c]), table_.shape(groups[c], option), option.cycles,
                              option.resources, groups[c]});
    }
  }

  bool same_type(std::size_t a, std::size_t b) const {
    return table_.items()[a].depthwise == table_.items()[b].depthwise;
  }

  double fastest(const Group& group) { return table_.options(group).front().cycles; }

  // All partitions; false if there are more than the limit.
  bool exhaust() {
    std::size_t left = limits_.exact_limit;
    if (!countable(0, {}, left)) return false;
    Partition groups;
    enumerate(0, groups);
    return true;
  }

  // Counts partitions until `left` is used up; `types` holds one layer of each group.
  bool countable(std::size_t layer, std::vector<std::size_t> types, std::size_t& left) const {
    if (left == 0) return false;
    if (layer == table_.items().size()) {
      --left;
      return true;
    }
    for (const std::size_t first : types)
      if (same_type(first, layer) && !countable(layer + 1, types, left)) return false;
    if (types.size() == limits_.max_chunks) return true;
    types.push_back(layer);
    return countable(layer + 1, types, left);
  }

  void enumerate(std::size_t layer, Partition& groups) {
    if (layer == table_.items().size()) {
      judge(groups);
      return;
    }
    for (std::size_t g = 0; g < groups.size(); ++g) {
      if (!same_type(groups[g].front(), layer)) continue;
      groups[g].push_back(layer);
      if (!best_.found || fastest(groups[g]) < best_.cycles) enumerate(layer + 1, groups);
      groups[g].pop_back();
    }
    if (groups.size() == limits_.max_chunks) return;
    groups.push_back({layer});
    if (!best_.found || fastest(groups.back()) < best_.cycles) enumerate(layer + 1, groups);
    groups.pop_back();
  }

  // Groups by what `key` says of a layer, most loaded keys first; what does not fit shares the last of its type.
  template <typename Key>
  Partition grouped(const Key& key) const {
    Partition groups;
    std::vector<std::int64_t> keys;
    for (std::size_t i = 0; i < table_.items().size(); ++i) {
      std::size_t at = 0;
      while (at < groups.size() && (keys[at] != key(i) || !same_type(groups[at].front(), i))) ++at;
      if (at == groups.size() && groups.size() >= limits_.max_chunks) {
        at = 0;
        while (at < groups.size() && !same_type(groups[at].front(), i)) ++at;
      }
      if (at == groups.size()) {
        groups.emplace_back();
        keys.push_back(key(i));
      }
      groups[at].push_back(i);
    }
    return groups;
  }

  // Layers one by one, slowest first, to the chunk with the least work of `count` of their type.
  Partition balanced(std::size_t count) {
    std::size_t layers[2] = {0, 0};
    for (const auto& item : table_.items()) ++layers[item.depthwise ? 1 : 0];
    std::vector<std::size_t> order(table_.items().size());
    std::iota(order.begin(), order.end(), 0);
    std::vector<double> work;
    double sums[2] = {0, 0};
    for (const std::size_t i : order) {
      work.push_back(fastest({i}));
      sums[table_.items()[i].depthwise ? 1 : 0] += work.back();
    }
    std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return work[a] > work[b]; });
    std::size_t places[2];
    for (int t = 0; t < 2; ++t) {
      const double part = sums[t] / (sums[0] + sums[1]) * static_cast<double>(count);
      places[t] = layers[t] == 0 ? 0 : std::max<std::size_t>(1, static_cast<std::size_t>(std::floor(part)));
    }
    Partition groups;
    std::vector<double> loads;
    std::size_t opened[2] = {0, 0};
    for (const std::size_t i : order) {
      const int type = table_.items()[i].depthwise ? 1 : 0;
      if (opened[type] < places[type]) {
        ++opened[type];
        groups.push_back({i});
        loads.push_back(work[i]);
        continue;
      }
      std::size_t at = groups.size();
      for (std::size_t g = 0; g < groups.size(); ++g)
        if (same_type(groups[g].front(), i) && (at == groups.size() || loads[g] < loads[at])) at = g;
      groups[at].push_back(i);
      loads[at] += work[i];
    }
    return groups;
  }

  // One layer to another chunk or a new one, or two layers change places; false if the move is not possible.
  bool move(Partition& groups) {
    const std::size_t from = rng_.below(groups.size());
    const std::size_t index = rng_.below(groups[from].size());
    const std::size_t layer = groups[from][index];
    const std::size_t to = rng_.below(groups.size() + 1);
    if (to == from) return false;
    if (to == groups.size()) {
      if (groups.size() == limits_.max_chunks || groups[from].size() == 1) return false;
      groups.emplace_back();
    } else if (!same_type(groups[to].front(), layer)) {
      return false;
    }
    if (to < groups.size() && !groups[to].empty() && rng_.chance(0.3)) {
      std::swap(groups[from][index], groups[to][rng_.below(groups[to].size())]);
      return true;
    }
    groups[to].push_back(layer);
    groups[from].erase(groups[from].begin() + static_cast<std::ptrdiff_t>(index));
    if (groups[from].empty()) groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(from));
    return true;
  }

  std::vector<Partition> starts() {
    std::vector<Partition> all;
    all.push_back(grouped([&](std::size_t) { return 0; }));
    all.push_back(grouped([&](std::size_t i) { return table_.items()[i].bits; }));
    all.push_back(grouped([&](std::size_t i) { return static_cast<std::int64_t>(table_.items()[i].kind); }));
    for (std::size_t count = 2; count <= limits_.max_chunks; ++count) all.push_back(balanced(count));
    std::erase_if(all, [&](const Partition& groups) { return groups.size() > limits_.max_chunks; });
    return all;
  }

  void climb() {
    std::vector<std::pair<double, Partition>> beginnings;
    for (Partition& groups : starts()) {
      const double cycles = judge(groups);
      beginnings.emplace_back(cycles, std::move(groups));
    }
    if (beginnings.empty()) throw input_error("{} chunks are too few for both types of layers", limits_.max_chunks);
    std::stable_sort(beginnings.begin(), beginnings.end(),
                     [](const auto& a, const auto& b) { return a.first < b.first; });
    const std::size_t runs = std::min<std::size_t>(3, beginnings.size());
    const std::size_t each =
        limits_.evaluations > best_.evaluations ? (limits_.evaluations - best_.evaluations) / runs : 0;
    for (std::size_t run = 0; run < runs; ++run) climb_from(beginnings[run].second, beginnings[run].first, each);
  }

  void climb_from(Partition groups, double cycles, std::size_t evaluations) {
    std::size_t spent = 0;
    for (std::size_t tries = 0; spent < evaluations && tries < 50 * evaluations; ++tries) {
      Partition next = groups;
      if (!move(next)) continue;
      if (rng_.chance(0.25)) move(next);
      ++spent;
      const double now = judge(next);
      if (now > cycles) continue;
      cycles = now;
      groups = std::move(next);
    }
  }

  EngineTable& table_;
  ResourceBudget budget_;
  AssignmentLimits limits_;
  Rng rng_;
  AssignmentAnswer best_;
  double overshoot_ = infinity;
};

template <typename Layer>
AssignmentAnswer assign(const std::vector<Placed<Layer>>& layers, const AssignmentSpace& space,
                        const ResourceBudget& budget, const AssignmentLimits& limits) {
  if (layers.empty()) throw input_error("no layers to put on chunks");
  bool types[2] = {false, false};
  std::vector<std::pair<Layer, int>> kinds;
  std::vector<EngineTable::Item> items;
  for (const Placed<Layer>& placed : layers) {
    const std::pair<Layer, int> kind{nameless(placed.layer), placed.bits};
    const auto at = std::find(kinds.begin(), kinds.end(), kind);
    items.push_back({is_depthwise(placed.layer), placed.bits, static_cast<std::size_t>(at - kinds.begin())});
    if (at == kinds.end()) kinds.push_back(kind);
    types[items.back().depthwise ? 1 : 0] = true;
  }
  const std::size_t least = types[0] && types[1] ? 2 : 1;
  if (limits.max_chunks < least)
    throw input_error("{} chunks, needed: at least {} for the types of these layers", limits.max_chunks, least);
  EngineTable table(
      std::move(items), space, budget, overhead_dsp(layers.front().layer),
      [&](std::size_t kind, const ChunkShape& shape, int bits) { return cost_on(kinds[kind].first, shape, bits); });
  return AssignmentSearch(table, budget, limits).run();
}

}  // namespace

AssignmentSpace nba_spaces(NbaInput input, bool free_mode) {
  return {{nba_space("a0q8", input, free_mode), nba_space("a1q8", input, free_mode)},
          {nba_space("dwa0q8", input, free_mode), nba_space("dwa1q8", input, free_mode)}};
}

AssignmentSpace general_spaces() {
  ChunkSpace space;
  space.modes = {0, 1, 2};
  space.tile_rows = space.rows = {16, 8, 4, 2, 1};
  space.tile_cols = space.cols = {16, 8, 4};
  space.tile_out = space.out = space.tile_in = space.in = {64, 32, 16, 8, 4, 1};
  ChunkSpace depthwise = space;
  depthwise.depthwise = true;
  depthwise.modes = {0, 1};
  depthwise.tile_in = depthwise.in = {1};
  return {{space}, {depthwise}};
}

std::vector<Placed<SoundLayer>> placed_layers(const std::vector<ConvLayer>& layers) {
  std::vector<Placed<SoundLayer>> placed;
  for (const ConvLayer& layer : layers) placed.push_back({{layer, false}, layer.bits.widest(), -1});
  return placed;
}

AssignmentAnswer assign_layers(const std::vector<Placed<PaperLayer>>& layers, const AssignmentSpace& space,
                               const ResourceBudget& budget, const AssignmentLimits& limits) {
  return assign(layers, space, budget, limits);
}

AssignmentAnswer assign_layers(const std::vector<Placed<SoundLayer>>& layers, const AssignmentSpace& space,
                               const ResourceBudget& budget, const AssignmentLimits& limits) {
  return assign(layers, space, budget, limits);
}

}  // namespace kasimir
