// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/hypervolume.h"
#include "kasimir/study/store.h"
#include "kasimir/synth/sampler.h"

#include <functional>
#include <optional>
#include <string>
#include <vector>

namespace kasimir {

/// A candidate that was trained on the first rung. Counts are of the whole network with it.
struct Parent {
  int trial = 0;
  study::Point point;
};

/// What a strategy sees of a study. All candidates keep the budget.
struct History {
  std::vector<Parent> parents;           ///< the most accurate first
  std::optional<study::Point> original;  ///< if it was trained already
};

/// A kernel and where it comes from.
struct Idea {
  Sampled sampled;
  nlohmann::json origin;  ///< strategy, attempt, and the parents with the move
};

/// Zero-cost scores in the order in which the study asks for them; nothing where a score has no value.
using Scores = std::vector<std::optional<double>>;

/// Where strategies' kernels come from: a search's sampler (SamplerSource), or a table of kernels that were trained
/// already (strategy_table.h). Everything is a pure function of its arguments and the source.
class IdeaSource {
 public:
  virtual ~IdeaSource() = default;
  virtual Outcome<Idea> drawn(std::uint64_t attempt) = 0;
  virtual Outcome<Idea> mutated(int trial, std::uint64_t attempt) = 0;
  virtual Outcome<Idea> crossed(int first, int second, std::uint64_t attempt) = 0;
  /// Begins with the trial's first `kept` steps (moves.h).
  virtual Outcome<Idea> regrown(int trial, int kept, std::uint64_t attempt) = 0;

  /// The steps of a trial's kernel as text, what they name by `given` before the first.
  virtual const std::vector<std::string>& steps(int trial) = 0;
  /// synth/features.h; nothing where the kernel has none.
  virtual const std::optional<std::vector<double>>& features(int trial) = 0;
  virtual std::optional<std::vector<double>> features(const Idea& idea) = 0;
  /// Empty where the study asks for none.
  virtual const Scores& scores(int trial) = 0;
  virtual Scores scores(const Idea& idea) = 0;  ///< computed anew: takes a share of a second
  /// MACs and parameters of the network with it; the accuracy is not known.
  virtual study::Point counts(const Idea& idea) = 0;
};

/// What a strategy is given to make the kernel of a trial.
struct Task {
  IdeaSource& source;
  std::uint64_t seed = 1;
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

/// Kernels that are drawn before any strategy looks at the history.
inline constexpr std::size_t first_generation = 16;

/// Of accuracies, only what is at most this far below the original's counts for a front: nobody wants a kernel that
/// loses more. A judgement.
inline constexpr double front_depth = 0.1;
study::Point point_of(double accuracy, const study::Counts& network);

/// The reference of hypervolumes: the original's counts, and that accuracy.
study::Point front_reference(const study::Point& original);

}  // namespace kasimir
