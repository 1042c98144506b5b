// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/statistics.h"

#include <gtest/gtest.h>

#include <cmath>

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

}  // namespace
}  // namespace kasimir
