// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/scores.h"

#include "fake.h"

#include "kasimir/study/summary.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <functional>
#include <limits>

namespace kasimir::study {
namespace {

using Scores = std::vector<ScoreRow>;

std::vector<Scores> of_values(const std::vector<double>& values) {
  std::vector<Scores> all;
  for (const double value : values) all.push_back({{"zen", value, "", 0.1}});
  return all;
}

TEST(ScoreRows, ReadWhatTheyWrite) {
  const Scores scores = {{"zen", 1.5, "", 0.25}, {"naswot", {}, "score: the network has activations (it has none)", 2}};
  Json result = {{"recipe", "short"}};
  add_scores(result, scores);
  EXPECT_EQ(scores_in(Json::parse(result.dump())), scores);
  EXPECT_EQ(result.at("recipe"), "short");
  EXPECT_EQ(scores_in({{"recipe", "short"}}), Scores{});
  EXPECT_EQ(scores_in(Json()), Scores{});
}

TEST(ShareBetter, CountsWhatIsBetterAndEqualOnesHalf) {
  const auto earlier = of_values({1, 2, 3, 4});
  EXPECT_EQ(share_better(earlier, {{"zen", 5, "", 0}}), 0);
  EXPECT_EQ(share_better(earlier, {{"zen", 2.5, "", 0}}), 0.5);
  EXPECT_EQ(share_better(earlier, {{"zen", 2, "", 0}}), 0.625);
  EXPECT_EQ(share_better(earlier, {{"zen", 0, "", 0}}), 1);
  EXPECT_EQ(share_better({}, {{"zen", 0, "", 0}}), 0);
}

TEST(ShareBetter, TakesAScoreWithoutValueForTheWorst) {
  EXPECT_EQ(share_better(of_values({1, 2, 3, 4}), {{"zen", {}, "why", 0}}), 1);
  EXPECT_EQ(share_better({{{"zen", {}, "why", 0}}}, {{"zen", -1e300, "", 0}}), 0);
}

TEST(ShareBetter, MeansThePlacesInAllScoresWhateverTheirScale) {
  std::vector<Scores> earlier;
  for (int i = 0; i < 10; ++i) earlier.push_back({{"zen", i, "", 0}, {"naswot", -1000.0 * i, "", 0}});
  // First by one and last by the other, as all the others are by turns.
  EXPECT_EQ(share_better(earlier, {{"zen", 99, "", 0}, {"naswot", -99000, "", 0}}), 0.5);
  EXPECT_EQ(share_better(earlier, {{"zen", 99, "", 0}, {"naswot", 1, "", 0}}), 0);
}

TEST(DroppedByScores, SaysWhatIsBetterAndHowManyMayBe) {
  std::vector<double> values(20);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<double>(i);
  const auto dropped = dropped_by_scores(of_values(values), {{"zen", 4.5, "", 0}}, 0.5);
  ASSERT_TRUE(dropped);
  EXPECT_EQ(dropped->verdict, Verdict::rejected);
  EXPECT_EQ(dropped->rule, "scores: better candidates at most 0.5");
  EXPECT_EQ(dropped->reason, "0.75 of the last 20 candidates have better scores");
  EXPECT_FALSE(dropped_by_scores(of_values(values), {{"zen", 9.5, "", 0}}, 0.5));
  EXPECT_FALSE(dropped_by_scores(of_values(values), {{"zen", -1, "", 0}}, 1));
  values.resize(15);
  EXPECT_FALSE(dropped_by_scores(of_values(values), {{"zen", -1, "", 0}}, 0.5));
}

TEST(Summaries, HaveTheScoresOfTrialsAlsoOfThoseThatTheyEnded) {
  const fake::Folder folder;
  fake::start(folder / "a.db", fake::spec(6));
  const auto evaluate = fake::evaluate();
  run_worker(folder / "a.db", fake::ask(1), [&](const Job& job, const Trial& trial, JobObserver& observer) {
    JobResult result = job.trial == 3 ? JobResult::rejected("scores: x", "y") : evaluate(job, trial, observer);
    if (job.rung == Rung::quick) add_scores(result.extra, {{"zen", 0.5 * job.trial, "", 0.25}});
    return result;
  });
  const Store store = Store::view(folder / "a.db");
  const auto rows = summaries(store);
  EXPECT_EQ(score_names(rows), std::vector<std::string>{"zen"});
  ASSERT_GT(rows.size(), 4U);
  EXPECT_EQ(rows[3].state, TrialState::rejected);
  int with_scores = 0;
  for (const TrialSummary& row : rows) {
    const ScoreRow* score = score_of(row, "zen");
    if (score == nullptr) continue;
    with_scores += row.state == TrialState::failed ? 0 : 1;
    EXPECT_EQ(*score, (ScoreRow{"zen", 0.5 * row.number, "", 0.25}));
  }
  EXPECT_NE(score_of(rows[3], "zen"), nullptr);
  EXPECT_GE(with_scores, 5);
  EXPECT_EQ(score_of(rows[3], "naswot"), nullptr);
  std::vector<double> recent;
  for (const Json& result : store.recent_results(Rung::quick, 100))
    for (const ScoreRow& score : scores_in(result)) recent.push_back(*score.value);
  EXPECT_EQ(static_cast<int>(recent.size()), with_scores - 1) << "without the original";
  EXPECT_TRUE(std::ranges::is_sorted(recent, std::greater())) << "newest first";
  EXPECT_EQ(store.recent_results(Rung::quick, 2).size(), 2U);
}

}  // namespace
}  // namespace kasimir::study
