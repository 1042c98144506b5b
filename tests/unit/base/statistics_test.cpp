// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/statistics.h"

#include "kasimir/base/rng.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>
#include <numbers>

namespace kasimir {
namespace {

TEST(Statistics, GeometricMeanOfRatiosAndTheirInversesIsOne) {
  EXPECT_NEAR(geometric_mean({2, 0.5, 4, 0.25}), 1, 1e-15);
  EXPECT_NEAR(geometric_mean({1, 10, 100}), 10, 1e-12);
  EXPECT_EQ(geometric_mean({}), 0);
}

TEST(Statistics, MedianIsTheMiddle) {
  EXPECT_EQ(median({3, 1, 2}), 2);
  EXPECT_EQ(median({4, 1, 2, 3}), 2.5);
  EXPECT_EQ(median({}), 0);
}

TEST(Statistics, MeanAndDeviationOfASample) {
  EXPECT_EQ(mean({1, 2, 6}), 3);
  EXPECT_DOUBLE_EQ(standard_deviation({1, 2, 6}), std::sqrt((4 + 1 + 9) / 2.0));
  EXPECT_EQ(mean({}), 0);
  EXPECT_EQ(standard_deviation({7}), 0);
}

TEST(Statistics, RankCorrelationSeesOrderOnly) {
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {1, 8, 27, 64}), 1, 1e-15);
  EXPECT_NEAR(rank_correlation({1, 2, 3, 4}, {4, 3, 2, 1}), -1, 1e-15);
  // With ties at their mean rank: ranks 0, 1.5, 1.5, 3 against 0, 1, 2, 3; cov 4.5, variances 4.5 and 5.
  EXPECT_NEAR(rank_correlation({1, 2, 2, 3}, {1, 2, 3, 4}), 4.5 / std::sqrt(4.5 * 5), 1e-15);
  EXPECT_EQ(rank_correlation({1, 1, 1}, {1, 2, 3}), 0);
}

/// By its definition, pair by pair.
double tau_of_pairs(const std::vector<double>& a, const std::vector<double>& b) {
  double sum = 0;
  double in_a = 0;
  double in_b = 0;
  const auto sign = [](double x) { return x > 0 ? 1 : x < 0 ? -1 : 0; };
  for (std::size_t i = 0; i < a.size(); ++i) {
    for (std::size_t j = 0; j < i; ++j) {
      sum += sign(a[i] - a[j]) * sign(b[i] - b[j]);
      in_a += std::abs(sign(a[i] - a[j]));
      in_b += std::abs(sign(b[i] - b[j]));
    }
  }
  return in_a > 0 && in_b > 0 ? sum / std::sqrt(in_a * in_b) : 0;
}

TEST(KendallTau, CountsPairsInOrder) {
  EXPECT_EQ(kendall_tau({1, 2, 3, 4}, {10, 20, 30, 40}), 1);
  EXPECT_EQ(kendall_tau({1, 2, 3, 4}, {4, 3, 2, 1}), -1);
  EXPECT_NEAR(kendall_tau({1, 2, 3, 4}, {1, 2, 4, 3}), 4.0 / 6, 1e-15);
  // Five pairs in order and one equal in the first list: 5 / sqrt(5 * 6).
  EXPECT_NEAR(kendall_tau({1, 2, 2, 3}, {1, 2, 3, 4}), 5 / std::sqrt(30.0), 1e-15);
  EXPECT_EQ(kendall_tau({1, 1, 1}, {1, 2, 3}), 0);
  EXPECT_EQ(kendall_tau({}, {}), 0);
  const double low = -std::numeric_limits<double>::infinity();
  EXPECT_NEAR(kendall_tau({low, 2, low, 3}, {1, 2, 1, 4}), 1, 1e-15);
}

TEST(KendallTau, IsWhatItsDefinitionSaysForRandomLists) {
  const std::uint64_t seed = 11;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  for (int round = 0; round < 300; ++round) {
    std::vector<double> a;
    std::vector<double> b;
    const std::uint64_t values = 1 + rng.below(30);
    for (std::uint64_t i = rng.below(40); i > 0; --i) {
      a.push_back(static_cast<double>(rng.below(values)));
      b.push_back(static_cast<double>(rng.below(values)));
    }
    EXPECT_NEAR(kendall_tau(a, b), tau_of_pairs(a, b), 1e-12) << "round " << round;
  }
}

TEST(KendallInterval, HoldsTheTruthAsOftenAsItSays) {
  // Of two normal numbers with correlation r, tau is 2 / pi * asin(r).
  const double r = 0.6;
  const double truth = 2 / std::numbers::pi * std::asin(r);
  const std::uint64_t seed = 12;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  int held = 0;
  constexpr int rounds = 300;
  for (int round = 0; round < rounds; ++round) {
    std::vector<double> a;
    std::vector<double> b;
    for (int i = 0; i < 60; ++i) {
      a.push_back(rng.normal());
      b.push_back(r * a.back() + std::sqrt(1 - r * r) * rng.normal());
    }
    const ConfidenceInterval interval = kendall_interval(a, b, 0.9, 200, static_cast<std::uint64_t>(round));
    held += interval.low <= truth && truth <= interval.high ? 1 : 0;
  }
  // 90 % of 300 with a standard deviation of 5.2; the percentile bootstrap itself is a little too narrow.
  EXPECT_GE(held, 245);
  EXPECT_LE(held, 290);
}

TEST(KendallInterval, IsTheSameForTheSameSeed) {
  const std::vector<double> a = {1, 2, 3, 4, 5, 6};
  const std::vector<double> b = {2, 1, 4, 3, 6, 5};
  const ConfidenceInterval once = kendall_interval(a, b, 0.95, 100, 1);
  const ConfidenceInterval again = kendall_interval(a, b, 0.95, 100, 1);
  EXPECT_EQ(once.low, again.low);
  EXPECT_EQ(once.high, again.high);
  EXPECT_LT(once.low, kendall_tau(a, b));
  EXPECT_GE(once.high, kendall_tau(a, b));
}

}  // namespace
}  // namespace kasimir
