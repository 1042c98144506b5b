// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"
#include "kasimir/strategy_breed.h"

namespace kasimir {
namespace {

Outcome<Idea> propose(const Task& task) {
  return breed(task, "evolution",
               [&](Rng& rng, std::optional<int> other) { return accurate_parent(task.history, rng, other); });
}

}  // namespace

const Strategy evolution_strategy{"evolution", "mutates and crosses the more accurate half of what was trained", true,
                                  propose};

}  // namespace kasimir
