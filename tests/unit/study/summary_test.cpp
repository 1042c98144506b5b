// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/summary.h"

#include "fake.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kasimir::study {
namespace {

TrialSummary row(int number, double accuracy, std::int64_t macs, Rung rung = Rung::full) {
  TrialSummary s;
  s.number = number;
  s.state = TrialState::complete;
  s.rung = rung;
  s.accuracy = Measured{accuracy, 0, 1};
  s.network = {macs, macs / 10};
  return s;
}

TEST(Summaries, ShowAFinishedSearch) {
  const fake::Folder folder;
  fake::start(folder / "a.db", fake::spec(12));
  run_worker(folder / "a.db", fake::ask(1), fake::evaluate());
  const Store store = Store::view(folder / "a.db");
  const auto rows = summaries(store);
  ASSERT_EQ(rows.size(), store.trials().size());
  int finalists = 0;
  for (const TrialSummary& s : rows) {
    const Trial trial = store.trial(s.number);
    EXPECT_EQ(s.state, trial.state);
    EXPECT_EQ(s.kernel, trial.kernel);
    EXPECT_EQ(s.reason, trial.reason);
    EXPECT_EQ(s.network, trial.network);
    if (s.number == 0 || s.state != TrialState::complete) continue;
    ++finalists;
    EXPECT_EQ(s.rung, Rung::full);
    double sum = 0;
    std::vector<double> seeds;
    for (int seed = 0; seed < 2; ++seed) {
      Job job;
      job.trial = s.number;
      job.rung = Rung::full;
      job.seed = seed;
      seeds.push_back(fake::accuracy(job));
      sum += seeds.back();
    }
    EXPECT_DOUBLE_EQ(s.accuracy->value, sum / 2);
    EXPECT_NEAR(s.accuracy->spread, std::abs(seeds[0] - seeds[1]) / std::sqrt(2.0), 1e-12);
    EXPECT_EQ(s.accuracy->count, 2);
    EXPECT_DOUBLE_EQ(s.test_accuracy->value, sum / 2 - 0.01);
    // Samples are 2.0 2.1 2.2 2.3 2.4 (+ 0.01 n) beside 4.0.
    EXPECT_DOUBLE_EQ(s.latency_ms->value, 2.2 + 0.01 * s.number);
    EXPECT_NEAR(s.latency_ms->spread, 0.2, 1e-12);
    EXPECT_EQ(s.latency_ms->count, 5);
    EXPECT_DOUBLE_EQ(s.original_ms->value, 4.0);
    EXPECT_NEAR(s.latency_ratio->value, (2.2 + 0.01 * s.number) / 4, 1e-12);
    EXPECT_EQ(s.threads, 1);
    EXPECT_EQ(s.batch, 1);
  }
  EXPECT_EQ(finalists, 3);
  EXPECT_EQ(rows[0].latency_ms->value, 4.0);
  EXPECT_EQ(rows[0].latency_ms->count, 15);
  EXPECT_EQ(rows[0].accuracy->count, 2);
}

TEST(ParetoFront, KeepsWhatNothingBeats) {
  const std::vector<TrialSummary> rows = {row(0, 0.90, 1000), row(1, 0.80, 500), row(2, 0.85, 400),
                                          row(3, 0.70, 100),  row(4, 0.70, 90),  row(5, 0.91, 1000)};
  EXPECT_EQ(pareto_front(rows, Measure::macs), (std::vector<std::size_t>{4, 2, 5}));
  EXPECT_EQ(pareto_front(rows, Measure::params), (std::vector<std::size_t>{4, 2, 5}));
  EXPECT_EQ(pareto_front(rows, Measure::latency), std::vector<std::size_t>{});
}

TEST(ParetoFront, HoldsAccuracyAgainstTheCostOnAnAccelerator) {
  std::vector<TrialSummary> rows = {row(0, 0.90, 1000), row(1, 0.80, 500), row(2, 0.85, 400)};
  EXPECT_FALSE(has_accelerator(rows));
  EXPECT_EQ(pareto_front(rows, Measure::accelerator), std::vector<std::size_t>{});
  const double values[] = {30, 10, 20};
  for (std::size_t i = 0; i < rows.size(); ++i) rows[i].network.accelerator = AcceleratorCost{1, 1, values[i]};
  EXPECT_TRUE(has_accelerator(rows));
  EXPECT_EQ(pareto_front(rows, Measure::accelerator), (std::vector<std::size_t>{1, 2, 0}));
}

TEST(ParetoFront, ComparesOnOneRungOnly) {
  const std::vector<TrialSummary> rows = {row(0, 0.90, 1000), row(1, 0.80, 500), row(2, 0.95, 400, Rung::quick)};
  EXPECT_EQ(pareto_front(rows, Measure::macs), (std::vector<std::size_t>{1, 0}));
}

TEST(ParetoFront, LeavesOutWhatFailed) {
  std::vector<TrialSummary> rows = {row(0, 0.90, 1000), row(1, 0.80, 500)};
  rows[1].state = TrialState::failed;
  EXPECT_EQ(pareto_front(rows, Measure::macs), (std::vector<std::size_t>{0}));
}

TEST(NearestMisses, LeadWithWhatMeetsTheGoalThenByDistance) {
  const std::vector<TrialSummary> rows = {row(0, 0.90, 1000), row(1, 0.87, 400), row(2, 0.89, 550),
                                          row(3, 0.50, 100),  row(4, 0.89, 450), row(5, 0.885, 300)};
  const auto misses = nearest_misses(rows, {Measure::macs, 0.02, 0.5}, 4);
  ASSERT_EQ(misses.size(), 4u);
  EXPECT_EQ(misses[0].index, 4u);
  EXPECT_TRUE(misses[0].met());
  EXPECT_EQ(misses[1].index, 5u);
  EXPECT_EQ(misses[2].index, 2u);
  EXPECT_NEAR(misses[2].ratio_over, 0.05, 1e-12);
  EXPECT_FALSE(misses[2].met());
  EXPECT_EQ(misses[3].index, 1u);
  EXPECT_NEAR(misses[3].accuracy_short, 0.01, 1e-12);
}

TEST(NearestMisses, NeedsTheOriginal) {
  std::vector<TrialSummary> rows = {row(0, 0.90, 1000), row(1, 0.87, 400)};
  rows[0].accuracy.reset();
  EXPECT_TRUE(nearest_misses(rows, {}, 4).empty());
}

}  // namespace
}  // namespace kasimir::study
