// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/engines.h"

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

constexpr std::uint64_t usual_evaluations = 20000;
constexpr std::size_t population = 40;
constexpr std::size_t elite = 4;
constexpr std::size_t tournament = 3;

/// A factor vector for each dimension and, for each level, importances whose descending order is the loop order from
/// the outermost inwards.
struct Genome {
  std::vector<std::size_t> factors;
  std::vector<std::vector<double>> importance;
  std::size_t keeps = 0;
  double rank = 0;
};

class Breeder {
 public:
  Breeder(Referee& referee, const MappingSpace& space, Rng& rng) : referee_(referee), space_(space), rng_(rng) {}

  void run() {
    std::vector<Genome> parents;
    for (std::size_t i = 0; i < population && !referee_.over(); ++i) {
      parents.push_back(fresh());
      judge(parents.back());
    }
    while (!referee_.over()) {
      std::stable_sort(parents.begin(), parents.end(),
                       [](const Genome& a, const Genome& b) { return a.rank < b.rank; });
      std::vector<Genome> children(parents.begin(), parents.begin() + static_cast<std::ptrdiff_t>(elite));
      while (children.size() < population && !referee_.over()) {
        Genome child = cross(select(parents), select(parents));
        mutate(child);
        judge(child);
        children.push_back(std::move(child));
      }
      parents = std::move(children);
    }
  }

 private:
  [[nodiscard]] int dims() const { return referee_.model().dims; }

  Genome fresh() {
    Genome genome;
    for (int d = 0; d < dims(); ++d) genome.factors.push_back(rng_.below(space_.factors(d).size()));
    genome.importance.resize(space_.slots().size());
    for (auto& level : genome.importance)
      for (int d = 0; d < dims(); ++d) level.push_back(rng_.unit());
    genome.keeps = rng_.below(space_.keeps().size());
    return genome;
  }

  const Genome& select(const std::vector<Genome>& parents) {
    std::size_t best = rng_.below(parents.size());
    for (std::size_t i = 1; i < tournament; ++i) best = std::min<std::size_t>(best, rng_.below(parents.size()));
    return parents[best];
  }

  Genome cross(const Genome& a, const Genome& b) {
    Genome child = a;
    for (std::size_t d = 0; d < child.factors.size(); ++d)
      if (rng_.chance(0.5)) child.factors[d] = b.factors[d];
    for (std::size_t s = 0; s < child.importance.size(); ++s)
      if (rng_.chance(0.5)) child.importance[s] = b.importance[s];
    if (rng_.chance(0.5)) child.keeps = b.keeps;
    return child;
  }

  void mutate(Genome& genome) {
    for (int d = 0; d < dims(); ++d)
      if (rng_.chance(1.5 / dims())) genome.factors[static_cast<std::size_t>(d)] = moved(d, genome);
    for (auto& level : genome.importance)
      for (double& importance : level)
        if (rng_.chance(0.1)) importance += 0.3 * rng_.normal();
    if (rng_.chance(0.1)) genome.keeps = rng_.below(space_.keeps().size());
  }

  /// A factor vector that differs in two slots, if a few draws find one; any other otherwise.
  std::size_t moved(int d, const Genome& genome) {
    const auto& list = space_.factors(d);
    const FactorVector& now = list[genome.factors[static_cast<std::size_t>(d)]];
    std::size_t other = rng_.below(list.size());
    for (int draw = 0; draw < 8; ++draw) {
      int changed = 0;
      for (std::size_t s = 0; s < now.size(); ++s) changed += now[s] != list[other][s] ? 1 : 0;
      if (changed == 2) break;
      other = rng_.below(list.size());
    }
    return other;
  }

  void judge(Genome& genome) {
    std::vector<const FactorVector*> factors;
    for (int d = 0; d < dims(); ++d) factors.push_back(&space_.factors(d)[genome.factors[static_cast<std::size_t>(d)]]);
    std::vector<std::vector<int>> orders(genome.importance.size());
    for (std::size_t s = 0; s < orders.size(); ++s) {
      orders[s].resize(static_cast<std::size_t>(dims()));
      std::iota(orders[s].begin(), orders[s].end(), 0);
      const std::vector<double>& by = genome.importance[s];
      std::stable_sort(orders[s].begin(), orders[s].end(),
                       [&](int a, int b) { return by[static_cast<std::size_t>(a)] > by[static_cast<std::size_t>(b)]; });
    }
    referee_.judge(space_.build(factors, orders, space_.keeps()[genome.keeps]));
    genome.rank = referee_.rank();
  }

  Referee& referee_;
  const MappingSpace& space_;
  Rng& rng_;
};

}  // namespace

SearchAnswer evolutionary_search(const CostModel& model, const SearchOptions& options) {
  Referee referee(model, options, usual_evaluations);
  const MappingSpace space(model, options.rules);
  Rng rng(options.seed, 5);
  Breeder(referee, space, rng).run();
  return referee.answer(false);
}

}  // namespace kasimir
