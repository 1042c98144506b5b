// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/store.h"
#include "kasimir/synth/sampler.h"

#include <functional>
#include <string>
#include <vector>

namespace kasimir {

/// A candidate that was trained on the first rung.
struct Parent {
  int trial = 0;
  double accuracy = 0;  ///< on that rung
  double macs = 0;      ///< of the whole network with it
  double params = 0;
};

/// What a strategy sees of a study. All candidates keep the budget.
struct History {
  std::vector<Parent> parents;                   ///< the most accurate first
  std::function<std::string(int trial)> kernel;  ///< its text
};

/// A kernel and where it comes from.
struct Idea {
  Sampled sampled;
  nlohmann::json origin;  ///< strategy, attempt, and the parents with the move
};

/// What a strategy is given to make the kernel of a trial.
struct Task {
  const Sampler& sampler;
  SampleMemory& memory;
  int trial = 0;
  std::uint64_t attempt = 0;  ///< a number of its own for each try: what decides every random choice
  const History& history;
};

/// A way to choose the next kernel. A new one is a file of its own and a line in strategies.cpp.
struct Strategy {
  std::string_view name;
  std::string_view brief;
  bool uses_history = false;
  /// One try. Rejected with the rule that ended it; the caller tries again with the next attempt.
  Outcome<Idea> (*propose)(const Task& task);
};

std::span<const Strategy> strategies();
/// @throws Error (input): "unknown strategy `evolve`, did you mean `evolution`?".
const Strategy& strategy_named(std::string_view name);

}  // namespace kasimir
