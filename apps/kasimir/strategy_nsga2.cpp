// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"
#include "kasimir/strategy_breed.h"

#include "kasimir/study/dominance.h"

#include <algorithm>
#include <vector>

namespace kasimir {
namespace {

/// Parents come from the best so many: the population that each generation of NSGA-II keeps. A judgement, for studies
/// of some hundred trials.
constexpr std::size_t population_size = 32;

/// Trials by front and loneliness: accuracy up, MACs and parameters down.
std::vector<int> population_of(const History& history) {
  std::vector<study::Objectives> all;
  for (const Parent& parent : history.parents)
    all.push_back({-parent.point.accuracy, parent.point.macs, parent.point.params});
  std::vector<int> trials;
  for (const std::size_t index : study::by_preference(all)) {
    if (trials.size() == population_size) break;
    trials.push_back(history.parents[index].trial);
  }
  return trials;
}

Outcome<Idea> propose(const Task& task) {
  const std::vector<int> population = population_of(task.history);
  // Binary tournaments (Deb et al., 2002): the one that is preferred stands earlier.
  return breed(task, "nsga2", [&](Rng& rng, std::optional<int> other) {
    std::vector<int> pool = population;
    if (other) std::erase(pool, *other);
    return pool[std::min(rng.below(pool.size()), rng.below(pool.size()))];
  });
}

}  // namespace

const Strategy nsga2_strategy{"nsga2", "the same, from the front of accuracy, MACs and parameters", true, propose};

}  // namespace kasimir
