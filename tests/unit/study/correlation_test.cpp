// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/correlation.h"

#include "fake.h"
#include "support/thrown.h"

#include "kasimir/study/scores.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kasimir::study {
namespace {

using kasimir::testing::thrown_by;

/// Ten candidates that all climb to the last rung, where candidate n has accuracy n / 100.
class Correlation : public ::testing::Test {
 protected:
  static constexpr int candidates = 10;

  static Outcome<Proposal> ask(int number) {
    // MACs fall with the number, parameters are all the same.
    return Proposal{"k", fmt::format("h{}", number), nullptr, {1, 1}, {1000 - number, 7}, nullptr};
  }

  /// The early rungs have neighbours swapped: 2 and 1 on rung longer, 2 and 1, 4 and 3 on rung quick.
  static double accuracy(const Job& job) {
    const int n = job.trial;
    const int swapped = job.rung == Rung::full ? 0 : job.rung == Rung::longer ? 2 : 4;
    return (n > swapped || n == 0 ? n : n % 2 == 0 ? n - 1 : n + 1) / 100.0;
  }

  static JobResult evaluate(const Job& job, const Trial&, JobObserver& observer) {
    JobResult result;
    result.accuracy = accuracy(job);
    // The first epoch ranks them the other way round.
    observer.epoch({1, 1, 0, 1, 1 - *result.accuracy, 0.1, 2.0});
    observer.epoch({2, 1, 0, 1, *result.accuracy, 0.1, 3.0});
    if (job.rung != Rung::quick) return result;
    ScoreRow best{"best", static_cast<double>(job.trial), "", 0.25};
    // The lowest one of the ranking has no value, which is the lowest of all.
    if (job.trial == 1) best = {"best", {}, "why", 0.25};
    add_scores(result.extra, {best, {"worst", -1.0 * job.trial, "", 1}, {"blind", 3.0, "", 0}});
    return result;
  }

  void search(int finalists) {
    Json spec = fake::spec(candidates);
    spec["ladder"]["promote"] = 1;
    spec["ladder"]["finalists"] = finalists;
    spec["ladder"]["latency_s"] = 0;
    fake::start(folder / "a.db", spec);
    run_worker(folder / "a.db", ask, evaluate);
  }

  [[nodiscard]] Correlations look(const CorrelationOptions& options = {}) const {
    return correlations(Store::view(folder / "a.db"), options);
  }

  static CorrelationOptions asked(std::optional<Rung> with, int least = 8) {
    CorrelationOptions options;
    options.with = with;
    options.least = least;
    return options;
  }

  static const CorrelationRow& row(const Correlations& of, const std::string& what) {
    return *std::ranges::find(of.rows, what, &CorrelationRow::what);
  }

  fake::Folder folder;
};

TEST_F(Correlation, IsThatOfEveryScoreCountRungAndEpoch) {
  search(candidates);
  const Correlations found = look();
  EXPECT_EQ(found.with, Rung::full);
  EXPECT_EQ(found.trials, candidates);
  std::vector<std::string> names;
  for (const CorrelationRow& row : found.rows) names.push_back(row.what);
  EXPECT_EQ(names, (std::vector<std::string>{"score best", "score worst", "score blind", "MACs", "parameters",
                                             "rung quick, epoch 1", "rung quick", "rung longer, epoch 1", "rung longer",
                                             "rung full, epoch 1"}));
  EXPECT_EQ(row(found, "score best").tau, 1);
  EXPECT_EQ(row(found, "score worst").tau, -1);
  EXPECT_EQ(row(found, "score blind").tau, 0);
  EXPECT_EQ(row(found, "MACs").tau, -1);
  EXPECT_EQ(row(found, "parameters").tau, 0);
  // Each swapped pair of 45 counts twice.
  EXPECT_NEAR(row(found, "rung quick").tau, 1 - 4 / 45.0, 1e-12);
  EXPECT_NEAR(row(found, "rung longer").tau, 1 - 2 / 45.0, 1e-12);
  EXPECT_NEAR(row(found, "rung longer, epoch 1").tau, -1 + 2 / 45.0, 1e-12);
  EXPECT_EQ(row(found, "rung full, epoch 1").tau, -1);
}

TEST_F(Correlation, HasAnIntervalAndTheTimeItTook) {
  search(candidates);
  const Correlations found = look();
  for (const CorrelationRow& row : found.rows) {
    EXPECT_EQ(row.trials, candidates) << row.what;
    EXPECT_LE(row.interval.low, row.tau + 1e-12) << row.what;
    EXPECT_GE(row.interval.high, row.tau - 1e-12) << row.what;
  }
  EXPECT_LT(row(found, "rung quick").interval.low, row(found, "rung quick").tau);
  EXPECT_EQ(row(found, "score best").seconds, 0.25);
  EXPECT_EQ(row(found, "MACs").seconds, std::nullopt);
  EXPECT_EQ(row(found, "rung full, epoch 1").seconds, 4.0);  // two seeds
}

TEST_F(Correlation, TakesTheHighestRungThatEnoughCandidatesReached) {
  search(3);
  EXPECT_EQ(look().with, Rung::longer);
  EXPECT_EQ(look(asked(Rung::quick)).rows.back().what, "rung quick, epoch 1");
  EXPECT_EQ(look(asked(Rung::full, 3)).trials, 3);
  EXPECT_EQ(thrown_by([&] { return look(asked(Rung::full)); }),
            fmt::format("2: study {}: too few candidates have a result to rank them by: 3 on rung full, needed are 8\n"
                        "  search with --promote 1, or with as many --finalists",
                        (folder / "a.db").string()));
  EXPECT_EQ(thrown_by([&] { return look(asked({}, 20)); }),
            fmt::format("2: study {}: too few candidates have a result to rank them by: 3 on rung full, 10 on rung "
                        "longer, 10 on rung quick, needed are 20\n"
                        "  search with --promote 1, or with as many --finalists",
                        (folder / "a.db").string()));
}

}  // namespace
}  // namespace kasimir::study
