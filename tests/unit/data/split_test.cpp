// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/split.h"

#include "data_files.h"
#include "kasimir/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <random>
#include <set>

namespace kasimir {
namespace {

using test::error_of;
using Indices = std::vector<std::int32_t>;

/// Images of one pixel in classes of the given sizes, shuffled.
ImageSet labelled(const std::vector<int>& class_sizes, std::uint64_t seed) {
  ImageSet set{.channels = 1, .height = 1, .width = 1, .pixels = {}, .labels = {}};
  for (std::size_t c = 0; c < class_sizes.size(); ++c)
    set.labels.insert(set.labels.end(), static_cast<std::size_t>(class_sizes[c]), static_cast<std::int32_t>(c));
  Rng rng(seed);
  for (std::size_t i = set.labels.size(); i > 1; --i) std::swap(set.labels[i - 1], set.labels[rng.below(i)]);
  set.pixels.resize(set.labels.size());
  return set;
}

std::int64_t count_class(const ImageSet& set, const Indices& indices, std::int32_t label) {
  return std::count_if(indices.begin(), indices.end(),
                       [&](std::int32_t i) { return set.labels[static_cast<std::size_t>(i)] == label; });
}

TEST(Split, IsDisjointCompleteAndKeepsTheSharesOfTheClasses) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    std::vector<int> sizes;
    for (std::int64_t classes = rng.between(2, 12); classes > 0; --classes)
      sizes.push_back(static_cast<int>(rng.between(1, 60)));
    const ImageSet set = labelled(sizes, rng.bits());
    const double fraction = 0.25 + 0.5 * rng.unit();
    const Split split = split_validation(set, fraction, rng.bits());
    EXPECT_EQ(static_cast<std::int64_t>(split.validation.size()), std::llround(fraction * set.size()));
    EXPECT_TRUE(std::is_sorted(split.train.begin(), split.train.end()));
    EXPECT_TRUE(std::is_sorted(split.validation.begin(), split.validation.end()));
    std::set<std::int32_t> all(split.train.begin(), split.train.end());
    all.insert(split.validation.begin(), split.validation.end());
    EXPECT_EQ(all.size(), split.train.size() + split.validation.size());
    EXPECT_EQ(static_cast<std::int64_t>(all.size()), set.size());
    EXPECT_EQ(*all.rbegin(), set.size() - 1);
    const double share = static_cast<double>(split.validation.size()) / static_cast<double>(set.size());
    for (std::size_t c = 0; c < sizes.size(); ++c) {
      const auto kept = static_cast<double>(count_class(set, split.validation, static_cast<std::int32_t>(c)));
      EXPECT_LT(std::abs(kept - share * sizes[c]), 1.0) << "class " << c << " of " << sizes[c];
    }
  }
}

TEST(Split, IsTheSameForTheSameSeedOnly) {
  const ImageSet set = labelled({100, 100, 100}, 1);
  EXPECT_EQ(split_validation(set, 0.1, 5), split_validation(set, 0.1, 5));
  EXPECT_NE(split_validation(set, 0.1, 5), split_validation(set, 0.1, 6));
}

TEST(Split, RefusesFractionsThatLeaveAPartEmpty) {
  const ImageSet set = labelled({2, 2}, 1);
  for (const auto& [fraction, text] : {std::pair{0.0, "0"}, {1.0, "1"}, {-0.5, "-0.5"}, {std::nan(""), "nan"}})
    EXPECT_EQ(error_of([&, f = fraction] { split_validation(set, f, 1); }),
              std::string("exit 2: a validation fraction of ") + text +
                  " is not between 0 and 1\n  0.1 sets every tenth training image apart");
  EXPECT_EQ(error_of([&] { split_validation(set, 0.1, 1); }),
            "exit 2: a validation fraction of 0.1 leaves 0 of 4 images to validate on and 4 to train on\n"
            "  both parts need images: choose a fraction nearer to 0.5 or more images");
  EXPECT_EQ(error_of([&] { split_validation(set, 0.9, 1); }),
            "exit 2: a validation fraction of 0.9 leaves 4 of 4 images to validate on and 0 to train on\n"
            "  both parts need images: choose a fraction nearer to 0.5 or more images");
}

TEST(StratifiedSubset, GivesTheRestToTheLargestRemainders) {
  const ImageSet set = labelled({6, 3, 1}, 3);
  const Indices five = stratified_subset(set.labels, 5, 1);  // shares 3, 1.5, 0.5: the lower class goes first
  EXPECT_EQ(count_class(set, five, 0), 3);
  EXPECT_EQ(count_class(set, five, 1), 2);
  EXPECT_EQ(count_class(set, five, 2), 0);
}

TEST(StratifiedSubset, ChoosesOnlyAmongTheGivenImages) {
  const ImageSet set = labelled({40, 40}, 2);
  const Split split = split_validation(set, 0.5, 1);
  const Indices chosen = stratified_subset(set.labels, split.train, 10, 9);
  EXPECT_EQ(chosen.size(), 10U);
  EXPECT_TRUE(std::includes(split.train.begin(), split.train.end(), chosen.begin(), chosen.end()));
  EXPECT_EQ(count_class(set, chosen, 0), 5);
}

TEST(StratifiedSubset, OfAllIsAllAndOfNoneIsNone) {
  const ImageSet set = labelled({5, 9}, 2);
  EXPECT_EQ(stratified_subset(set.labels, 14, 3).size(), 14U);
  EXPECT_EQ(stratified_subset(set.labels, 0, 3), Indices{});
  EXPECT_EQ(stratified_subset({}, 0, 3), Indices{});
}

TEST(StratifiedSubset, ChecksItsArguments) {
  const Indices labels = {0, 1};
  EXPECT_EQ(error_of([&] { stratified_subset(labels, 3, 1); }).substr(0, 42),
            "exit 70: internal error: 3 of 2 images (co");
  EXPECT_EQ(error_of([&] { stratified_subset(labels, Indices{0, 2}, 1, 1); }).substr(0, 42),
            "exit 70: internal error: image 2 of 2 (ind");
}

TEST(SelectImages, KeepsTheOrderAsked) {
  const ImageSet set{.channels = 1, .height = 1, .width = 2, .pixels = {1, 2, 3, 4, 5, 6}, .labels = {7, 8, 9}};
  const ImageSet chosen = select_images(set, Indices{2, 0});
  EXPECT_EQ(chosen.pixels, (std::vector<std::uint8_t>{5, 6, 1, 2}));
  EXPECT_EQ(chosen.labels, (Indices{9, 7}));
  EXPECT_EQ(error_of([&] { select_images(set, Indices{3}); }).substr(0, 42),
            "exit 70: internal error: image 3 of 3 (ind");
}

TEST(ChannelStatistics, MeasureEachChannelOverTheGivenImages) {
  // two images of 1 x 2 pixels and two channels
  const ImageSet set{
      .channels = 2, .height = 1, .width = 2, .pixels = {0, 255, 51, 51, 255, 255, 102, 0}, .labels = {0, 0}};
  const ChannelStatistics first = channel_statistics(set, Indices{0});
  EXPECT_NEAR(first.mean[0], 0.5, 1e-12);
  EXPECT_NEAR(first.mean[1], 0.2, 1e-12);
  EXPECT_NEAR(first.deviation[0], 0.5, 1e-12);
  EXPECT_NEAR(first.deviation[1], 0, 1e-7);
  const ChannelStatistics both = channel_statistics(set, Indices{0, 1});
  EXPECT_NEAR(both.mean[0], 0.75, 1e-12);
  EXPECT_NEAR(both.mean[1], 0.2, 1e-12);
  EXPECT_NEAR(both.deviation[0], std::sqrt(3.0) / 4, 1e-12);
  EXPECT_NEAR(both.deviation[1], std::sqrt(0.02), 1e-12);
  EXPECT_EQ(error_of([&] { channel_statistics(set, Indices{}); }).substr(0, 58),
            "exit 70: internal error: statistics of no image, out of 2 ");
}

}  // namespace
}  // namespace kasimir
