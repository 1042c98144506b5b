// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/record.h"

#include <optional>
#include <string>
#include <vector>

namespace kasimir::study {

/// What a trial was given before any training, by one zero-cost score. Higher is better.
struct ScoreRow {
  std::string name;
  std::optional<double> value = {};
  std::string reason = {};  ///< why there is no value, which is the worst
  double seconds = 0;
  bool operator==(const ScoreRow&) const = default;
};

/// The result of a trial's job on rung `quick` keeps them, also where they ended the trial: `"scores": [..]`.
void add_scores(Json& result, const std::vector<ScoreRow>& scores);
/// None where a study has none. @throws Error (bug) for scores that this version cannot read.
std::vector<ScoreRow> scores_in(const Json& result);

/// The share of the earlier candidates that are better. Compared is the mean, over the scores that both have, of the
/// place among all of them; equal places count half.
double share_better(const std::vector<std::vector<ScoreRow>>& earlier, const std::vector<ScoreRow>& mine);

/// How many candidates are looked back at, and how few are too few for dropping any. Judgements.
constexpr int score_window = 64;
constexpr int score_window_least = 16;

/// Why a candidate is not worth its training: it is not among the best share `keep` of the last candidates. Nothing
/// where it is, or where too few went before.
std::optional<JobResult> dropped_by_scores(const std::vector<std::vector<ScoreRow>>& earlier,
                                           const std::vector<ScoreRow>& mine, double keep);

}  // namespace kasimir::study
