// SPDX-License-Identifier: Apache-2.0
// Published data sets, where the machine has them; the tests skip where it has not.
#include "data_files.h"

#include "kasimir/data/dataset.h"
#include "kasimir/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <numeric>

namespace kasimir {
namespace {

std::vector<std::int32_t> all_of(const ImageSet& set) {
  std::vector<std::int32_t> indices(set.labels.size());
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

TEST(RealData, FashionMnistHasItsPublishedSizesAndStatistics) {
  if (!std::filesystem::exists("/usr/share/datasets/fashion-mnist"))
    GTEST_SKIP() << "the Debian package dataset-fashion-mnist is not installed";
  const Dataset data = load_dataset("fashion-mnist", {});
  EXPECT_EQ(data.train.size(), 60000);
  EXPECT_EQ(data.test.size(), 10000);
  EXPECT_EQ(data.train.image_bytes(), 28U * 28);
  for (std::int32_t label = 0; label < 10; ++label) {
    EXPECT_EQ(std::ranges::count(data.train.labels, label), 6000);
    EXPECT_EQ(std::ranges::count(data.test.labels, label), 1000);
  }
  const ChannelStatistics statistics = channel_statistics(data.train, all_of(data.train));
  EXPECT_NEAR(statistics.mean[0], 0.2860, 5e-5);
  EXPECT_NEAR(statistics.deviation[0], 0.3530, 5e-5);
}

TEST(RealData, SomeOfCifar10AsJpegFilesLoads) {
  const auto archive = std::filesystem::path(KASIMIR_SOURCE_DIR) / "../shared/data/cifar10-jpeg.tar.gz";
  if (!std::filesystem::exists(archive)) GTEST_SKIP() << "there is no " << archive.string();
  const test::TempFolder folder;
  const std::string command = "tar xzf '" + archive.string() + "' -C '" + folder.str() +
                              "' --wildcards 'train/*/000?.jpg' 'train/*/001?.jpg' 'test/*/000?.jpg'";
  ASSERT_EQ(std::system(command.c_str()), 0) << command;
  const Dataset data = load_dataset(folder.str(), {.threads = 2});
  EXPECT_EQ(data.classes, (std::vector<std::string>{"airplane", "automobile", "bird", "cat", "deer", "dog", "frog",
                                                    "horse", "ship", "truck"}));
  EXPECT_EQ(data.train.size(), 200);
  EXPECT_EQ(data.test.size(), 100);
  EXPECT_EQ(data.train.image_bytes(), 3U * 32 * 32);
  const ChannelStatistics statistics = channel_statistics(data.train, all_of(data.train));
  for (const double mean : statistics.mean) EXPECT_NEAR(mean, 0.48, 0.08);
  for (const double deviation : statistics.deviation) EXPECT_NEAR(deviation, 0.25, 0.05);
}

}  // namespace
}  // namespace kasimir
