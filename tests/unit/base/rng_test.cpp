// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/rng.h"

#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <bit>
#include <cmath>
#include <limits>
#include <set>
#include <vector>

namespace kasimir {
namespace {

std::vector<std::uint64_t> first_values(Rng rng, int count) {
  std::vector<std::uint64_t> values;
  for (int i = 0; i < count; ++i) values.push_back(rng.bits());
  return values;
}

/// Sum over the cells of (observed - expected)^2 / expected.
double chi_square(const std::vector<int>& cells, double expected) {
  double sum = 0;
  for (const int observed : cells) sum += (observed - expected) * (observed - expected) / expected;
  return sum;
}

TEST(MixBits, IsTheFinaliserOfSplitMix64) {
  // The first outputs of SplitMix64 started at 0: its state is a multiple of the same odd constant.
  EXPECT_EQ(mix_bits(0), 0xE220A8397B1DCDAFULL);
  EXPECT_EQ(mix_bits(0x9E3779B97F4A7C15ULL), 0x6E789E6AA1B965F4ULL);
}

TEST(Rng, GivesTheSameValuesForTheSameSeedAndStream) {
  EXPECT_EQ(first_values(Rng(7, 3), 100), first_values(Rng(7, 3), 100));
}

TEST(Rng, KeepsItsValuesFromOneVersionToTheNext) {
  // Stored studies name a seed and expect the same kernels for ever.
  EXPECT_EQ(first_values(Rng(1, 2), 3),
            (std::vector<std::uint64_t>{0xE0D798E866A2DF8BULL, 0x45E47998807DB234ULL, 0x9815E0BE0ADD059CULL}));
}

TEST(Rng, NeverRepeatsAValueInOtherSeedsAndStreams) {
  std::set<std::uint64_t> seen;
  for (std::uint64_t seed = 0; seed < 20; ++seed) {
    for (std::uint64_t stream = 0; stream < 20; ++stream) {
      for (const std::uint64_t value : first_values(Rng(seed, stream), 50)) seen.insert(value);
    }
  }
  EXPECT_EQ(seen.size(), 20U * 20U * 50U);  // a chance repetition has probability 1e-11
}

TEST(Rng, FillsItsCellsEvenly) {
  Rng rng(42);
  std::vector<int> cells(100, 0);
  for (int i = 0; i < 100000; ++i) ++cells[rng.below(cells.size())];
  const double statistic = chi_square(cells, 1000);
  EXPECT_GT(statistic, 55.0);   // 0.0001 quantile of chi-square with 99 degrees of freedom
  EXPECT_LT(statistic, 160.1);  // 0.9999 quantile
}

TEST(Rng, GivesIndependentStreams) {
  // The top digits of two neighbouring streams at the same place fill the 16 x 16 pairs evenly.
  std::vector<int> cells(256, 0);
  for (std::uint64_t stream = 0; stream < 2000; ++stream) {
    Rng one(5, stream);
    Rng next(5, stream + 1);
    for (int i = 0; i < 64; ++i) ++cells[one.below(16) * 16 + next.below(16)];
  }
  const double statistic = chi_square(cells, 500);
  EXPECT_GT(statistic, 179.4);  // 0.0001 and 0.9999 quantiles with 255 degrees of freedom
  EXPECT_LT(statistic, 347.7);
}

TEST(Rng, GivesIndependentNeighboursInOneStream) {
  Rng rng(11);
  std::vector<int> cells(256, 0);
  std::uint64_t last = rng.below(16);
  for (int i = 0; i < 128000; ++i) {
    const std::uint64_t now = rng.below(16);
    ++cells[last * 16 + now];
    last = now;
  }
  const double statistic = chi_square(cells, 500);
  EXPECT_GT(statistic, 179.4);
  EXPECT_LT(statistic, 347.7);
}

TEST(Rng, ChangesHalfOfTheBitsFromSeedToSeed) {
  double changed = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    changed += std::popcount(Rng(seed).bits() ^ Rng(seed + 1).bits());
  }
  EXPECT_NEAR(changed / 1000, 32, 0.51);  // 4 standard deviations of the mean
}

TEST(Rng, StaysBetweenItsLimitsAndReachesBoth) {
  Rng rng(3);
  std::set<std::int64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(rng.between(-2, 3));
  EXPECT_EQ(seen, (std::set<std::int64_t>{-2, -1, 0, 1, 2, 3}));
}

TEST(Rng, CoversTheWholeRangeOf64Bits) {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  Rng rng(3);
  int negative = 0;
  for (int i = 0; i < 1000; ++i) negative += rng.between(lowest, highest) < 0 ? 1 : 0;
  EXPECT_NEAR(negative, 500, 64);
  EXPECT_EQ(rng.between(highest, highest), highest);
  EXPECT_LE(rng.between(lowest, lowest + 1), lowest + 1);
}

TEST(Rng, GivesUnitsWithTheMomentsOfAUniformVariable) {
  Rng rng(8);
  double sum = 0;
  double squares = 0;
  for (int i = 0; i < 100000; ++i) {
    const double u = rng.unit();
    ASSERT_GE(u, 0);
    ASSERT_LT(u, 1);
    sum += u;
    squares += u * u;
  }
  EXPECT_NEAR(sum / 100000, 0.5, 0.004);
  EXPECT_NEAR(squares / 100000, 1.0 / 3, 0.004);
}

TEST(Rng, GivesNormalsWithTheMomentsOfANormalVariable) {
  Rng rng(9);
  constexpr int count = 100000;
  double moments[5] = {};
  for (int i = 0; i < count; ++i) {
    const double x = rng.normal();
    for (int power = 1; power <= 4; ++power) moments[power] += std::pow(x, power) / count;
  }
  EXPECT_NEAR(moments[1], 0, 0.013);
  EXPECT_NEAR(moments[2], 1, 0.018);
  EXPECT_NEAR(moments[3], 0, 0.05);
  EXPECT_NEAR(moments[4], 3, 0.13);
}

TEST(Rng, TakesChancesAsOftenAsAsked) {
  Rng rng(10);
  int taken = 0;
  for (int i = 0; i < 10000; ++i) taken += rng.chance(0.3) ? 1 : 0;
  EXPECT_NEAR(taken, 3000, 184);
  EXPECT_FALSE(rng.chance(0));
  EXPECT_TRUE(rng.chance(1));
}

TEST(Rng, PicksEveryElement) {
  Rng rng(12);
  std::vector<int> values = {1, 2, 3};
  std::set<int> seen;
  for (int i = 0; i < 100; ++i) seen.insert(rng.pick(values));
  EXPECT_EQ(seen, (std::set<int>{1, 2, 3}));
  rng.pick(values) = 9;
  EXPECT_THAT(values, ::testing::Contains(9));
}

TEST(Rng, FailsACheckOnAnEmptyRange) {
  const auto message = ::testing::StartsWith("70: internal error: a random number was asked for from an empty range");
  EXPECT_THAT(testing::thrown_by([] { return Rng(1).below(0); }), message);
  EXPECT_THAT(testing::thrown_by([] { return Rng(1).between(2, 1); }), message);
  std::vector<int> none;
  EXPECT_THAT(testing::thrown_by([&] { return Rng(1).pick(none); }), message);
}

}  // namespace
}  // namespace kasimir
