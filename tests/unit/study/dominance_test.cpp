// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/dominance.h"

#include "kasimir/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kasimir::study {
namespace {

TEST(Dominance, NeedsToBeNowhereWorseAndSomewhereBetter) {
  EXPECT_TRUE(dominates({1, 2}, {1, 3}));
  EXPECT_FALSE(dominates({1, 3}, {1, 3}));
  EXPECT_FALSE(dominates({0, 4}, {1, 3}));
}

TEST(Dominance, OrdersFrontsAndWithinThemTheLonelierFirst) {
  const std::vector<Objectives> population{{1, 5}, {2, 4}, {2.5, 3.5}, {5, 1}, {3, 5}, {6, 6}};
  const auto found = preferences(population);
  EXPECT_EQ(found[0].front, 0U);
  EXPECT_EQ(found[3].front, 0U);
  EXPECT_EQ(found[4].front, 1U);
  EXPECT_EQ(found[5].front, 2U);
  EXPECT_TRUE(std::isinf(found[0].crowding));
  EXPECT_TRUE(std::isinf(found[3].crowding));
  EXPECT_DOUBLE_EQ(found[1].crowding, 1.5 / 4 + 1.5 / 4);
  EXPECT_DOUBLE_EQ(found[2].crowding, 3.0 / 4 + 3.0 / 4);
  EXPECT_EQ(by_preference(population), (std::vector<std::size_t>{0, 3, 2, 1, 4, 5}));
}

TEST(Dominance, GivesEachCandidateOneMoreFrontThanTheLastThatDominatesIt) {
  constexpr std::uint64_t seed = 11;
  RecordProperty("seed", static_cast<int>(seed));
  Rng rng(seed);
  std::vector<Objectives> population;
  for (int i = 0; i < 200; ++i)
    population.push_back({std::floor(12 * rng.unit()), std::floor(12 * rng.unit()), std::floor(12 * rng.unit())});
  const auto found = preferences(population);
  for (std::size_t a = 0; a < population.size(); ++a) {
    std::size_t expected = 0;
    for (std::size_t b = 0; b < population.size(); ++b)
      if (dominates(population[b], population[a])) expected = std::max(expected, found[b].front + 1);
    EXPECT_EQ(found[a].front, expected);
    EXPECT_GE(found[a].crowding, 0);
  }
}

TEST(Dominance, TakesEqualCandidatesAndNone) {
  EXPECT_TRUE(by_preference({}).empty());
  EXPECT_EQ(by_preference({{1, 1}, {1, 1}, {1, 1}}).size(), 3U);
}

}  // namespace
}  // namespace kasimir::study
