// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"

namespace kasimir {
namespace {

Outcome<Idea> propose(const Task& task) {
  auto sampled = task.sampler.attempt(task.attempt, task.memory);
  if (!sampled.ok()) return sampled.rejection();
  return Idea{*std::move(sampled), {{"strategy", "random"}, {"seed", task.sampler.seed()}, {"attempt", task.attempt}}};
}

}  // namespace

const Strategy random_strategy{"random", "every kernel is drawn anew", false, propose};

}  // namespace kasimir
