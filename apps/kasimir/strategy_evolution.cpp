// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"
#include "kasimir/strategy_breed.h"

#include <algorithm>
#include <vector>

namespace kasimir {
namespace {

/// Parents win a tournament of so many among the better half (Real et al., arXiv 1802.01548, use tournaments too).
constexpr int tournament = 3;

/// The most accurate of a few out of the better half, which has no place for `other`.
int parent_of(const History& history, Rng& rng, std::optional<int> other) {
  std::vector<int> pool;
  for (std::size_t i = 0; i < history.parents.size() / 2; ++i)
    if (history.parents[i].trial != other) pool.push_back(history.parents[i].trial);
  std::size_t best = pool.size() - 1;
  for (int i = 0; i < tournament; ++i) best = std::min(best, static_cast<std::size_t>(rng.below(pool.size())));
  return pool[best];
}

Outcome<Idea> propose(const Task& task) {
  return breed(task, "evolution",
               [&](Rng& rng, std::optional<int> other) { return parent_of(task.history, rng, other); });
}

}  // namespace

const Strategy evolution_strategy{"evolution", "mutates and crosses the more accurate half of what was trained", true,
                                  propose};

}  // namespace kasimir
