// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/cosearch/chunk_target.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();
using Price = std::array<double, 3>;  // of all dsp, bram18, lut; adding up to 1

Price shares(const ChunkLayerCost& cost, double overhead_dsp, const ResourceBudget& budget) {
  return {(cost.resources.dsp + overhead_dsp) / budget.dsp, cost.resources.bram18 / budget.bram18,
          cost.resources.lut / budget.lut};
}

double times(const Price& a, const Price& b) { return a[0] * b[0] + a[1] * b[1] + a[2] * b[2]; }

// A layer on its cheapest shape: cycles x priced share, and the shares behind it.
struct Cheapest {
  double cost = infinity;
  Price slope{};
};

Cheapest cheapest(const ChunkCosts& chunk, std::size_t kind, const Price& price, const ResourceBudget& budget) {
  Cheapest best;
  for (const auto& costs : chunk.costs) {
    const ChunkLayerCost& one = costs[kind];
    const Price share = shares(one, chunk.overhead_dsp, budget);
    if (std::max({share[0], share[1], share[2]}) > 1) continue;
    const double cost = one.cycles * times(share, price);
    if (cost >= best.cost) continue;
    best.cost = cost;
    for (std::size_t r = 0; r < price.size(); ++r) best.slope[r] = one.cycles * share[r];
  }
  return best;
}

// A uniform price of what is limited.
Price first_price(const ResourceBudget& budget) {
  Price price{};
  double limited = 0;
  const std::array<double, 3> limits{budget.dsp, budget.bram18, budget.lut};
  for (std::size_t r = 0; r < limits.size(); ++r)
    if (std::isfinite(limits[r])) limited += price[r] = 1;
  for (double& one : price) one = limited > 0 ? one / limited : 0;
  return price;
}

// Mirror ascent on the bound for some layers; the best prices are kept.
Price best_price(const std::vector<ChunkCosts>& chunks, const std::vector<LayerPlace>& layers,
                 const ResourceBudget& budget) {
  constexpr int rounds = 40;
  Price price = first_price(budget), best = price;
  double most = -infinity;
  for (int round = 0; round < rounds; ++round) {
    double bound = 0, norm = 0, sum = 0;
    Price slope{};
    for (const LayerPlace& place : layers) {
      const Cheapest one = cheapest(chunks[place.chunk], place.kind, price, budget);
      bound += one.cost;
      for (std::size_t r = 0; r < slope.size(); ++r) slope[r] += one.slope[r];
    }
    if (bound > most) {
      most = bound;
      best = price;
    }
    for (const double one : slope) norm = std::max(norm, one);
    if (!(norm > 0) || !std::isfinite(bound)) break;
    for (std::size_t r = 0; r < price.size(); ++r) {
      price[r] *= std::exp(2 / std::sqrt(1.0 + round) * slope[r] / norm);
      sum += price[r];
    }
    for (double& one : price) one /= sum;
  }
  return best;
}

}  // namespace

HardwareTarget::Bound ChunkTarget::bound(const ChoiceDesign& near) {
  const Price price = best_price(chunks_, layers_of(near), options_.budget);
  // Of each kind: its fastest shape, its priced bound, the least traffic.
  struct Floor {
    double cycles = infinity, priced = infinity, bits = infinity;
  };
  std::vector<std::vector<Floor>> floors;
  for (const ChunkCosts& chunk : chunks_) {
    floors.emplace_back(chunk.kinds.size());
    for (std::size_t kind = 0; kind < chunk.kinds.size(); ++kind) {
      Floor& floor = floors.back()[kind];
      floor.priced = cheapest(chunk, kind, price, options_.budget).cost;
      for (const auto& costs : chunk.costs) {
        const Price share = shares(costs[kind], chunk.overhead_dsp, options_.budget);
        if (std::max({share[0], share[1], share[2]}) > 1) continue;
        floor.cycles = std::min(floor.cycles, costs[kind].cycles);
        floor.bits = std::min(floor.bits, costs[kind].resources.dram_bits);
      }
    }
  }
  std::vector<std::string> parts;
  for (const ChunkCosts& chunk : chunks_) parts.push_back(chunk.name);
  parts.emplace_back("budget");
  if (memory_limited()) parts.emplace_back("shared memory");
  Bound result{load_table(space_, Aggregate::max, parts), false};
  const auto loads = [&](const std::vector<LayerPlace>& places) {
    std::vector<double> sums(parts.size(), 0);
    for (const LayerPlace& place : places) {
      const Floor& floor = floors[place.chunk][place.kind];
      sums[place.chunk] += floor.cycles;
      sums[chunks_.size()] += floor.priced;
      if (memory_limited()) sums.back() += floor.bits / options_.budget.dram_bits_per_cycle;
    }
    return sums;
  };
  result.loads.base = loads(outside_);
  for (std::size_t l = 0; l < places_.size(); ++l)
    for (std::size_t o = 0; o < places_[l].size(); ++o)
      for (std::size_t j = 0; j < places_[l][o].size(); ++j) {
        const std::vector<double> sums = loads(places_[l][o][j]);
        for (std::size_t p = 0; p < sums.size(); ++p)
          if (sums[p] > 0) result.loads.loads[l][o][j].push_back({p, sums[p]});
      }
  return result;
}

}  // namespace kasimir
