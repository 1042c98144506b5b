// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategy_breed.h"

#include "kasimir/strategies.h"

#include "kasimir/synth/moves.h"

namespace kasimir {
namespace {

// Judgements: no benchmark of strategies stands behind them yet.
/// Of the kernels after the first generation, so many are still drawn at random, and so many are crossed; the others
/// are mutated.
constexpr double share_random = 0.25;
constexpr double share_crossed = 0.25;

}  // namespace

Outcome<Idea> breed(const Task& task, std::string_view strategy, const ParentChoice& parent) {
  Rng rng(mix_bits(task.sampler.seed()), task.attempt);  // the sampler's own stream is another one
  const double choice = rng.unit();
  if (task.history.parents.size() < first_generation || choice < share_random) return random_strategy.propose(task);
  const int first = parent(rng, std::nullopt);
  const auto parse = [&](int trial) {
    return parse_kernel(task.history.kernel(trial), task.sampler.catalog(), fmt::format("trial {}", trial));
  };
  nlohmann::json origin{{"strategy", strategy}, {"attempt", task.attempt}};
  if (choice < share_random + share_crossed) {
    const int second = parent(rng, first);
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

}  // namespace kasimir
