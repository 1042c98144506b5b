// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/archive.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kasimir {
namespace {

ArchiveEntry entry(std::size_t op, double score, double cost) { return {{{op, 0}}, score, cost, 0}; }

TEST(ChoiceArchive, TheFrontHasWhatNothingBeats) {
  ChoiceArchive archive;
  archive.add(entry(0, 0.5, 10));
  archive.add(entry(1, 0.6, 20));
  archive.add(entry(2, 0.55, 25));
  archive.add(entry(3, 0.9, 90));
  const auto front = archive.front();
  ASSERT_EQ(front.size(), 3U);
  EXPECT_EQ(front[1].design, (ChoiceDesign{{1, 0}}));
  EXPECT_EQ(archive.best(30)->score, 0.6);
  EXPECT_EQ(archive.best(5), nullptr);
}

TEST(ChoiceArchive, ALaterValidationReplacesTheEarlierOne) {
  ChoiceArchive archive;
  archive.add(entry(0, 0.5, 10));
  archive.add(entry(0, 0.4, 10));
  ASSERT_EQ(archive.entries().size(), 1U);
  EXPECT_EQ(archive.find({{0, 0}})->score, 0.4);
}

TEST(Hypervolume, IsTheAreaOfScoreAndLogarithmOfCost) {
  const double e = std::exp(1.0);
  EXPECT_NEAR(hypervolume({entry(0, 0.5, 10)}, 0.1, 10 * e), 0.4, 1e-12);
  EXPECT_NEAR(hypervolume({entry(0, 0.5, 10), entry(1, 0.7, 20)}, 0.1, 20 * e), 0.4 * (1 + std::log(2.0)) + 0.2, 1e-12);
}

TEST(Hypervolume, DoesNotCountWhatIsBeatenOrOutsideTheReference) {
  const double area = hypervolume({entry(0, 0.5, 10)}, 0.1, 40);
  EXPECT_EQ(hypervolume({entry(0, 0.5, 10), entry(1, 0.4, 12), entry(2, 0.05, 1), entry(3, 0.9, 40)}, 0.1, 40), area);
}

}  // namespace
}  // namespace kasimir
