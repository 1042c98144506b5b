// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/search.h"

#include <algorithm>
#include <functional>
#include <vector>

namespace kasimir {

/// Every mapping of a space one by one: all factor vectors, all orders of each level's loops, all keeps.
class SearchOracle {
 public:
  SearchOracle(const CostModel& model, const SpaceRules& rules) : model_(model), space_(model, rules) {}

  void for_each(const std::function<void(const Mapping&)>& visit) {
    visit_ = visit;
    for (const Keeps& keeps : space_.keeps()) {
      keeps_ = keeps;
      std::vector<const FactorVector*> factors(static_cast<std::size_t>(model_.dims));
      bounds(0, factors);
    }
  }

  /// The least value of all mappings that fit; infinity if none does.
  double optimum(const Goal& goal) {
    double least = Goal::unlimited;
    for_each([&](const Mapping& mapping) {
      const Evaluation evaluation = evaluate(model_, mapping);
      if (!evaluation.fits() || evaluation.cycles > goal.max_cycles || evaluation.energy_pj > goal.max_energy_pj)
        return;
      least = std::min(least, value_of(goal, evaluation.cycles, evaluation.energy_pj));
    });
    return least;
  }

 private:
  void bounds(std::size_t dim, std::vector<const FactorVector*>& factors) {
    if (dim == factors.size()) {
      std::vector<std::vector<int>> orders(space_.slots().size());
      return order(0, factors, orders);
    }
    for (const FactorVector& vector : space_.factors(static_cast<int>(dim))) {
      factors[dim] = &vector;
      bounds(dim + 1, factors);
    }
  }
  void order(std::size_t slot, const std::vector<const FactorVector*>& factors, std::vector<std::vector<int>>& orders) {
    if (slot == orders.size()) return visit_(space_.build(factors, orders, keeps_));
    orders[slot].clear();
    if (space_.slots()[slot].kind == LoopKind::temporal)
      for (int d = 0; d < model_.dims; ++d)
        if ((*factors[static_cast<std::size_t>(d)])[slot] > 1) orders[slot].push_back(d);
    const std::vector<int> first = orders[slot];
    do {
      order(slot + 1, factors, orders);
    } while (std::next_permutation(orders[slot].begin(), orders[slot].end()));
    orders[slot] = first;
  }

  const CostModel& model_;
  const MappingSpace space_;
  Keeps keeps_{};
  std::function<void(const Mapping&)> visit_;
};

/// Problems of all kinds of reuse, small enough for the oracle.
inline std::vector<Problem> small_problems() {
  return {
      matrix_product(4, 6, 4),
      parse_problem("O[n,c,p] += I[n,c,2*p+r] * W[c,r] for n=2 c=2 p=4 r=3 with O:8/32 I:8 W:8"),
      parse_problem("O[k,p] += I[c,p+r] * W[k,c,r] for k=4 c=2 p=4 r=2 with O:8/24 I:8 W:4"),
      parse_problem("O[c,p] += I[c,p+r] for c=4 p=4 r=3 with O:8/32 I:8"),
      parse_problem("O[c,p] = I[c,p] * B[c] for c=6 p=8 with O:8 I:8 B:16 ops=2"),
      parse_problem("O[a,b] += X[a,k] * Y[b,k] * Z[k] for a=4 b=2 k=6 with O:16/32 X:8 Y:8 Z:8"),
      parse_problem("O[p] max= I[p+2*r-2<8] for p=8 r=4 with O:8 I:8"),
  };
}

/// Two or three levels with random sizes, energies and bandwidths, of which most problems feel something.
inline Architecture small_architecture(Rng& rng) {
  Architecture architecture;
  architecture.name = "small";
  architecture.compute.energy_pj = 0.5;
  const auto levels = rng.between(2, 3);
  for (std::int64_t l = 0; l < levels; ++l) {
    MemoryLevel level;
    level.name = fmt::format("m{}", l);
    level.keeps = l == 0 ? all_roles : static_cast<RoleSet>(1 + rng.below(7));
    level.read_pj = rng.between(1, 4) * (l == 0 ? 16.0 : 2.0);
    level.write_pj = rng.between(1, 4) * (l == 0 ? 16.0 : 2.0);
    level.write_pj_per_bit = rng.chance(0.5) ? 0.25 : 0;
    level.bandwidth = rng.chance(0.7) ? static_cast<double>(rng.between(4, 64)) : MemoryLevel::unbounded;
    level.read_bandwidth = rng.chance(0.3) ? static_cast<double>(rng.between(4, 32)) : MemoryLevel::unbounded;
    if (l > 0) level.capacity_bits = static_cast<double>(rng.between(64, 600));
    if (l > 0 && rng.chance(0.3)) level.partition_bits[0] = static_cast<double>(rng.between(16, 128));
    level.hop_pj_per_bit = rng.chance(0.3) ? 0.1 : 0;
    level.leakage_mw = rng.chance(0.3) ? 1 : 0;
    level.buffering = l == 0 ? Buffering::overlapped : static_cast<Buffering>(rng.below(3));
    if (rng.chance(0.6)) level.x = {.size = 4, .multicast = rng.chance(0.7), .reduction = rng.chance(0.7)};
    if (rng.chance(0.2)) level.y = {.size = 2, .multicast = rng.chance(0.7), .reduction = rng.chance(0.7)};
    level.share_overlaps = rng.chance(0.2);
    if (rng.chance(0.2)) level.systolic = static_cast<Systolic>(1 + rng.below(3));
    architecture.levels.push_back(level);
  }
  return architecture;
}

}  // namespace kasimir
