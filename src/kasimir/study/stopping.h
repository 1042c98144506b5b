// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/store.h"

#include <optional>
#include <vector>

namespace kasimir::study {

/// What a late accuracy is expected to be after an early one: a straight line through a study's pairs, with normal
/// residuals. What is predicted then has Student's distribution (Draper and Smith, "Applied Regression Analysis",
/// third edition, section 3.1), which knows that few pairs say little and that far from them they say less.
struct LatePrediction {
  double expected = 0;
  double scale = 0;  ///< of Student's distribution: the deviation, for many pairs
  int freedom = 0;   ///< pairs - 2
  /// That the late accuracy is above `bar`.
  [[nodiscard]] double chance_above(double bar) const;
};

/// Nothing for fewer than 3 pairs.
std::optional<LatePrediction> predict_late(const std::vector<RungPair>& pairs, double early);

/// What another candidate of these counts has to beat so that more training is worth while: the accuracy with which it
/// would be on the front (above that of all that cost no more, as `rank` compares them), or among the first `finalists`
/// of `rank`, whichever is lower. Nothing where any accuracy does, as with fewer results than `finalists`.
std::optional<double> bar_to_beat(const std::vector<RungResult>& results, const Counts& network, int finalists);

/// How stopping is decided.
struct StopRule {
  double below = 0;  ///< a candidate with a smaller chance of beating its bar is stopped; 0: none is
  int least = 12;    ///< pairs before which none is. A judgement
};

/// Why a candidate is stopped: what its chance follows from. Nothing if it goes on.
std::optional<LatePrediction> hopeless(const std::vector<RungPair>& pairs, double early, double bar,
                                       const StopRule& rule);

}  // namespace kasimir::study
