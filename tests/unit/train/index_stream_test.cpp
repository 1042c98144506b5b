// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/index_stream.h"

#include <gmock/gmock.h>

#include <numeric>

namespace kasimir {
namespace {

std::vector<std::int32_t> range(std::int32_t from, std::int32_t to) {
  std::vector<std::int32_t> indices(static_cast<std::size_t>(to - from));
  std::iota(indices.begin(), indices.end(), from);
  return indices;
}

std::vector<std::int32_t> take(IndexStream& stream, int batches) {
  std::vector<std::int32_t> all;
  for (int i = 0; i < batches; ++i) {
    const auto batch = stream.next();
    all.insert(all.end(), batch.begin(), batch.end());
  }
  return all;
}

TEST(IndexStream, GivesEachIndexOnceAnEpochInAnotherOrder) {
  IndexStream stream(range(10, 22), 4, 1);
  const std::vector<std::int32_t> first = take(stream, 3);
  EXPECT_EQ(stream.epoch(), 0U);
  const std::vector<std::int32_t> second = take(stream, 3);
  EXPECT_EQ(stream.epoch(), 1U);
  EXPECT_NE(first, second);
  EXPECT_THAT(first, ::testing::UnorderedElementsAreArray(range(10, 22)));
  EXPECT_THAT(second, ::testing::UnorderedElementsAreArray(range(10, 22)));
}

TEST(IndexStream, DropsWhatFillsNoBatchAndShrinksABatchThatIsTooLarge) {
  IndexStream dropping(range(0, 7), 3, 1);
  take(dropping, 2);
  EXPECT_EQ(dropping.epoch(), 0U);
  take(dropping, 1);
  EXPECT_EQ(dropping.epoch(), 1U);
  IndexStream small(range(0, 7), 100, 1);
  EXPECT_EQ(small.next().size(), 7U);
}

TEST(IndexStream, GoesOnFromAnyBatch) {
  IndexStream stream(range(0, 20), 3, 5);
  take(stream, 9);
  const std::vector<std::int32_t> wanted = take(stream, 8);
  IndexStream other(range(0, 20), 3, 5);
  other.go_to(9);
  EXPECT_EQ(take(other, 8), wanted);
}

}  // namespace
}  // namespace kasimir
