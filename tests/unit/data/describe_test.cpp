// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/describe.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

Dataset labelled(std::vector<std::int32_t> train) {
  Dataset data;
  data.classes = {"cat", "dog", "emu"};
  data.train = {.channels = 1, .height = 1, .width = 1, .pixels = {}, .labels = std::move(train)};
  data.train.pixels.resize(data.train.labels.size(), 51);
  data.test = {.channels = 1, .height = 1, .width = 1, .pixels = {0}, .labels = {2}};
  return data;
}

TEST(Describe, CountsClassesAndSaysWhenTheyAreOutOfBalance) {
  const Dataset even = labelled({0, 1, 2, 0, 1, 2});
  EXPECT_EQ(describe(even).imbalance, 1);
  EXPECT_EQ(describe(even).classes[2].test, 1);
  EXPECT_DOUBLE_EQ(describe(even).channels.mean[0], 0.2);
  EXPECT_EQ(imbalance_text(even), std::nullopt);
  EXPECT_EQ(imbalance_text(labelled({0, 0, 0, 1, 2})), std::nullopt);  // 3 is not above 3
  const Dataset odd = labelled({0, 0, 0, 0, 0, 0, 0, 1, 1});
  EXPECT_DOUBLE_EQ(describe(odd).imbalance, 3.5);
  EXPECT_EQ(describe(odd).empty_classes, 1);
  EXPECT_EQ(imbalance_text(odd),
            "classes are out of balance: cat has 7 training images, dog has 2 (3.5 times as many); 1 class has no "
            "training image");
}

TEST(Describe, GivesValuesInTheirOwnUnit) {
  Dataset data = labelled({0, 0});
  data.target = TargetKind::values;
  data.classes = {"y"};
  data.scales = {{10, 2}};
  data.train.values = {-1, 1};
  const DatasetFacts facts = describe(data);
  EXPECT_TRUE(facts.classes.empty());
  EXPECT_DOUBLE_EQ(facts.values[0].low, 8);
  EXPECT_DOUBLE_EQ(facts.values[0].high, 12);
  EXPECT_EQ(imbalance_text(data), std::nullopt);
}

TEST(Describe, CountsThePixelsOfMasks) {
  Dataset data = labelled({0, 0});
  data.target = TargetKind::masks;
  data.train.masks = {2, 1};
  data.test.masks = {1};
  EXPECT_EQ(describe(data).classes[1].train, 1);
  EXPECT_EQ(describe(data).classes[1].test, 1);
  EXPECT_EQ(describe(data).empty_classes, 1);
}

}  // namespace
}  // namespace kasimir
