// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/stopwatch.h"
#include "kasimir/hardware/search/search.h"

#include <map>
#include <string>

namespace kasimir {

/// What orders mappings that do not fit behind those that do: the value, or 1e300 * overshoot where it is infinite.
double rank_of(double value, double overshoot);

/// Judges mappings for the engines: counts what they cost, keeps the best, and says when to stop.
class Referee {
 public:
  /// `default_evaluations` holds where the options have no budget; 0: none. Model and options must outlive it.
  Referee(const CostModel& model, const SearchOptions& options, std::uint64_t default_evaluations);

  /// Evaluates and counts one mapping. @returns its value; infinity if it does not fit or passes a limit.
  double judge(const Mapping& mapping);
  /// By how much the last mapping passes limits, as a product of used / limit; 1 if it fits.
  [[nodiscard]] double overshoot() const { return overshoot_; }
  /// `rank_of` the last mapping.
  [[nodiscard]] double rank() const { return rank_of(value_, overshoot_); }
  /// Counts costs that the engine found by itself.
  void count(std::uint64_t evaluations) { evaluations_ += evaluations; }
  /// Whether to end now.
  bool over();
  /// Evaluations that the budget still has.
  [[nodiscard]] std::size_t left() const;

  [[nodiscard]] double best() const { return answer_.value; }
  [[nodiscard]] const Mapping& best_mapping() const { return answer_.mapping; }
  [[nodiscard]] bool found() const { return answer_.found; }
  [[nodiscard]] const CostModel& model() const { return model_; }
  [[nodiscard]] const SearchOptions& options() const { return options_; }
  /// A proved bound, so far.
  void prove(double lower_bound) { answer_.lower_bound = lower_bound; }

  SearchAnswer answer(bool complete);

 private:
  void note_misfit(const Mapping& mapping);
  void add_limits(std::vector<std::pair<std::string, std::string>>& broken) const;
  [[nodiscard]] std::string constraint_name(const BasicViolation<double>& violation) const;

  const CostModel& model_;
  const SearchOptions& options_;
  std::uint64_t budget_;
  std::uint64_t evaluations_ = 0;
  Evaluation evaluation_;
  double value_ = 0;
  double overshoot_ = 1;
  Stopwatch watch_;
  double shown_ = 0;
  int until_look_ = 0;
  bool stopped_ = false;
  SearchAnswer answer_;
  std::map<std::string, std::uint64_t> killed_;
  std::uint64_t misfits_ = 0;
  double nearest_ = std::numeric_limits<double>::infinity();
};

}  // namespace kasimir
