// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/flat_nest.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <utility>

namespace kasimir {
namespace {

/// The most terms that any sum has, loops with the outermost first.
std::int64_t most_terms(const std::vector<std::int64_t>& extents, std::int64_t terms) {
  const std::vector<bool> begins = partial_sums(extents, terms);
  std::int64_t most = 0;
  for (std::size_t i = extents.size(); i-- > 0;) {
    if (begins[i]) most = std::max(most, std::exchange(terms, 1));
    terms *= extents[i];
  }
  return std::max(most, terms);
}

TEST(PartialSums, LeaveShortSumsAsTheyAre) {
  EXPECT_EQ(partial_sums({3, 3}, 1), (std::vector<bool>{false, false}));
  EXPECT_EQ(partial_sums({}, 100), std::vector<bool>{});
}

TEST(PartialSums, AreAddedUpWhereASumIsLong) {
  EXPECT_EQ(partial_sums({128, 32, 32, 5, 5}, 1), (std::vector<bool>{true, true, true, false, false}));
  EXPECT_EQ(most_terms({128, 32, 32, 5, 5}, 1), 128);
  EXPECT_EQ(partial_sums({1000, 8}, 9), (std::vector<bool>{true, false}));
  EXPECT_EQ(most_terms({1000, 8}, 9), 1000);
}

}  // namespace
}  // namespace kasimir
