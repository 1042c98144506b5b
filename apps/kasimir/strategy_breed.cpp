// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategy_breed.h"

#include "kasimir/strategies.h"

#include <algorithm>

namespace kasimir {
namespace {

// Judgements.
/// Of the kernels after the first generation, so many are still drawn at random, and so many are crossed; the others
/// are mutated.
constexpr double share_random = 0.25;
constexpr double share_crossed = 0.25;
/// Parents win a tournament of so many among the better half (Real et al., arXiv 1802.01548, use tournaments too).
constexpr int tournament = 3;

}  // namespace

int accurate_parent(const History& history, Rng& rng, std::optional<int> other) {
  std::vector<int> pool;
  for (std::size_t i = 0; i < history.parents.size() / 2; ++i)
    if (history.parents[i].trial != other) pool.push_back(history.parents[i].trial);
  std::size_t best = pool.size() - 1;
  for (int i = 0; i < tournament; ++i) best = std::min(best, static_cast<std::size_t>(rng.below(pool.size())));
  return pool[best];
}

Outcome<Idea> breed(const Task& task, std::string_view strategy, const ParentChoice& parent) {
  Rng rng(mix_bits(task.seed), task.attempt);  // the sampler's own stream is another one
  const double choice = rng.unit();
  if (task.history.parents.size() < first_generation || choice < share_random) return random_strategy.propose(task);
  const int first = parent(rng, std::nullopt);
  auto idea = choice < share_random + share_crossed ? task.source.crossed(first, parent(rng, first), task.attempt)
                                                    : task.source.mutated(first, task.attempt);
  if (idea.ok()) idea->origin["strategy"] = strategy;
  return idea;
}

}  // namespace kasimir
