// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/scores.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <limits>

namespace kasimir::study {
namespace {

using Scores = std::vector<ScoreRow>;

const ScoreRow* find(const Scores& scores, const std::string& name) {
  const auto found = std::ranges::find(scores, name, &ScoreRow::name);
  return found == scores.end() ? nullptr : &*found;
}

double worth(const ScoreRow& score) { return score.value.value_or(-std::numeric_limits<double>::infinity()); }

/// 1 for each candidate that is worse, half for an equal one.
double place(const std::vector<const Scores*>& all, const std::string& name, double value) {
  double below = 0;
  for (const Scores* scores : all) {
    const ScoreRow* other = find(*scores, name);
    if (other == nullptr) continue;
    below += worth(*other) < value ? 1 : worth(*other) == value ? 0.5 : 0;
  }
  return below;
}

double mean_place(const std::vector<const Scores*>& all, const Scores& scores, const Scores& names) {
  double sum = 0;
  int count = 0;
  for (const ScoreRow& named : names) {
    const ScoreRow* score = find(scores, named.name);
    if (score == nullptr) continue;
    sum += place(all, named.name, worth(*score));
    ++count;
  }
  return count > 0 ? sum / count : 0;
}

}  // namespace

void add_scores(Json& result, const std::vector<ScoreRow>& scores) {
  Json rows = Json::array();
  for (const ScoreRow& score : scores) {
    Json row = {{"name", score.name}, {"seconds", score.seconds}};
    row["value"] = score.value ? Json(*score.value) : Json();
    if (!score.reason.empty()) row["reason"] = score.reason;
    rows.push_back(std::move(row));
  }
  result["scores"] = std::move(rows);
}

std::vector<ScoreRow> scores_in(const Json& result) {
  std::vector<ScoreRow> scores;
  if (!result.is_object() || !result.contains("scores")) return scores;
  try {
    for (const Json& row : result.at("scores")) {
      ScoreRow score{row.at("name").get<std::string>(), {}, row.value("reason", ""), row.at("seconds").get<double>()};
      if (!row.at("value").is_null()) score.value = row.at("value").get<double>();
      scores.push_back(std::move(score));
    }
  } catch (const Json::exception& problem) {
    throw Error(Fault::bug, fmt::format("scores in a study that cannot be read: {}", problem.what()));
  }
  return scores;
}

double share_better(const std::vector<Scores>& earlier, const Scores& mine) {
  if (earlier.empty()) return 0;
  std::vector<const Scores*> all{&mine};
  for (const Scores& scores : earlier) all.push_back(&scores);
  const double own = mean_place(all, mine, mine);
  double better = 0;
  for (const Scores& scores : earlier) {
    const double theirs = mean_place(all, scores, mine);
    better += theirs > own ? 1 : theirs == own ? 0.5 : 0;
  }
  return better / static_cast<double>(earlier.size());
}

std::optional<JobResult> dropped_by_scores(const std::vector<Scores>& earlier, const Scores& mine, double keep) {
  if (keep >= 1 || static_cast<int>(earlier.size()) < score_window_least) return std::nullopt;
  const double better = share_better(earlier, mine);
  if (better <= keep) return std::nullopt;
  return JobResult::rejected(
      fmt::format("scores: better candidates at most {:g}", keep),
      fmt::format("{:.2f} of the last {} candidates have better scores", better, earlier.size()));
}

}  // namespace kasimir::study
