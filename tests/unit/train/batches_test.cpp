// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/batches.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <memory>
#include <set>

namespace kasimir {
namespace {

/// One image of 2 channels, 2 rows, 3 columns: channel 0 holds 0 .. 5 times 51, channel 1 is constant.
ImageSet numbered() {
  ImageSet set{2, 2, 3, {}, {7}};
  for (int i = 0; i < 6; ++i) set.pixels.push_back(static_cast<std::uint8_t>(51 * i));
  for (int i = 0; i < 6; ++i) set.pixels.push_back(255);
  return set;
}

std::vector<float> written(const ImageSet& set, const ChannelStatistics& statistics,
                           const Augmentation& augmentation = {}) {
  std::vector<float> to(set.image_bytes());
  const std::vector<std::int32_t> index{0};
  Batcher(set, statistics).write(index, augmentation, to);
  return to;
}

TEST(Batcher, WritesNormalisedPixelsWithChannelsLast) {
  const auto to = written(numbered(), {{0.0, 0.5}, {0.2, 0.0}});
  const std::vector<float> channel_1(6, 500.0F);  // (1 - 0.5) / 1e-3: a constant channel's deviation counts as 1e-3
  for (std::size_t i = 0; i < 6; ++i) {
    EXPECT_FLOAT_EQ(to[2 * i], static_cast<float>(i));  // 0.2 * i / 0.2
    EXPECT_FLOAT_EQ(to[2 * i + 1], channel_1[i]);
  }
}

/// Gives the images of a set that is in memory.
class StreamOf : public ImageStream {
 public:
  explicit StreamOf(const ImageSet& set) : set_(set) {}
  void read(std::span<const std::int32_t> indices, std::span<std::uint8_t> to) const override {
    for (std::size_t i = 0; i < indices.size(); ++i)
      std::ranges::copy(set_.image(indices[i]), to.subspan(i * set_.image_bytes()).begin());
  }
  [[nodiscard]] std::span<const std::uint64_t> sums(std::int64_t) const override { return {}; }
  [[nodiscard]] std::uint64_t hash(std::int64_t) const override { return 0; }

 private:
  const ImageSet& set_;
};

TEST(Batcher, WritesStreamedImagesLikeThoseInMemory) {
  ImageSet set{1, 2, 2, {1, 2, 3, 4, 50, 60, 70, 80, 9, 8, 7, 6}, {0, 1, 2}};
  ImageSet streamed = set;
  streamed.pixels.clear();
  streamed.stream = std::make_shared<StreamOf>(set);
  const ChannelStatistics statistics{{0.1}, {0.2}};
  const std::vector<std::int32_t> indices{2, 0, 2, 1};
  for (const std::uint64_t seed : {1U, 2U, 3U}) {
    std::vector<float> a(16);
    std::vector<float> b(16);
    Batcher(set, statistics).write(indices, {1, true, seed}, a);
    Batcher(streamed, statistics).write(indices, {1, true, seed}, b);
    EXPECT_EQ(a, b);
  }
}

TEST(Batcher, MovesAndMirrorsEveryWay) {
  // Which crops and flips occur over many seeds: 3 x 3 places, mirrored or not; black comes in at the edge.
  const ImageSet set = numbered();
  std::set<std::vector<float>> seen;
  for (std::uint64_t seed = 0; seed < 400; ++seed) {
    const auto all = written(set, {{0.0, 0.0}, {0.2, 1.0}}, {1, true, seed});
    std::vector<float> first;
    for (std::size_t i = 0; i < 6; ++i) first.push_back(all[2 * i]);
    seen.insert(first);
  }
  EXPECT_EQ(seen.size(), 18U);
  EXPECT_TRUE(seen.contains({0, 1, 2, 3, 4, 5}));  // as it is
  EXPECT_TRUE(seen.contains({2, 1, 0, 5, 4, 3}));  // mirrored
  EXPECT_TRUE(seen.contains({0, 0, 0, 0, 0, 1}));  // moved down and right
  EXPECT_TRUE(seen.contains({4, 5, 0, 0, 0, 0}));  // moved up and left
}

TEST(Batcher, AugmentsBySeedAndIndexOnly) {
  ImageSet set = numbered();
  set.pixels.insert(set.pixels.end(), set.pixels.begin(), set.pixels.end());
  set.labels.push_back(3);
  const Batcher batcher(set, {{0.0, 0.0}, {1.0, 1.0}});
  const auto batch = [&](std::vector<std::int32_t> indices) {
    std::vector<float> to(indices.size() * set.image_bytes());
    batcher.write(indices, {1, true, 11}, to);
    return to;
  };
  const auto both = batch({0, 1});
  const auto reversed = batch({1, 0});
  EXPECT_TRUE(std::equal(both.begin(), both.begin() + 12, reversed.begin() + 12));
  EXPECT_TRUE(std::equal(both.begin() + 12, both.end(), reversed.begin()));
  EXPECT_EQ(batcher.labels(std::vector<std::int32_t>{1, 0}), (std::vector<std::int64_t>{3, 7}));
}

}  // namespace
}  // namespace kasimir
