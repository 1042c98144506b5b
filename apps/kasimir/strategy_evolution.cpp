// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"

#include "kasimir/base/rng.h"
#include "kasimir/synth/moves.h"

#include <algorithm>
#include <optional>
#include <vector>

namespace kasimir {
namespace {

// The numbers below are judgements: no benchmark of strategies stands behind them yet.
/// Kernels drawn at random before any is bred: a first generation.
constexpr std::size_t first_generation = 16;
/// Of those that follow, so many are still drawn at random, and so many are crossed; the others are mutated.
constexpr double share_random = 0.25;
constexpr double share_crossed = 0.25;
/// Parents win a tournament of so many among the better half (Real et al., arXiv 1802.01548, use tournaments too).
constexpr int tournament = 3;

/// The best of a few out of the better half, which has no place for `other`.
int parent_of(const History& history, Rng& rng, std::optional<int> other = {}) {
  std::vector<int> pool(history.ranked.begin(),
                        history.ranked.begin() + static_cast<std::ptrdiff_t>(history.ranked.size() / 2));
  if (other) std::erase(pool, *other);
  std::size_t best = pool.size() - 1;
  for (int i = 0; i < tournament; ++i) best = std::min(best, static_cast<std::size_t>(rng.below(pool.size())));
  return pool[best];
}

Outcome<Idea> propose(const Task& task) {
  Rng rng(mix_bits(task.sampler.seed()), task.attempt);  // the sampler's own stream is another one
  const double choice = rng.unit();
  if (task.history.ranked.size() < first_generation || choice < share_random) return random_strategy.propose(task);
  const int first = parent_of(task.history, rng);
  const auto parse = [&](int trial) {
    return parse_kernel(task.history.kernel(trial), task.sampler.catalog(), fmt::format("trial {}", trial));
  };
  nlohmann::json origin{{"strategy", "evolution"}, {"attempt", task.attempt}};
  if (choice < share_random + share_crossed) {
    const int second = parent_of(task.history, rng, first);
    origin["move"] = "crossing";
    origin["parents"] = {first, second};
    if (auto failed = cross(task.sampler, parse(first), parse(second), task.attempt, task.memory)) return *failed;
  } else {
    const auto made = mutate(task.sampler, parse(first), task.attempt, task.memory);
    if (!made.ok()) return made.rejection();
    origin["move"] = mutation_name(*made);
    origin["parents"] = {first};
  }
  auto sampled = task.sampler.describe(task.attempt, task.memory);
  if (!sampled.ok()) return sampled.rejection();
  return Idea{*std::move(sampled), std::move(origin)};
}

}  // namespace

const Strategy evolution_strategy{"evolution", "mutates and crosses the better half of what was trained", true,
                                  propose};

}  // namespace kasimir
