// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <random>

namespace kasimir {
namespace {

using ::testing::ElementsAre;

TEST(MapView, SplitsAndJoinsAxesWhereTheOrderStays) {
  const MapView map = MapView::of({6, 4, 5});
  const auto groups = map.reshaped({2, 3, 4, 5});
  ASSERT_TRUE(groups);
  EXPECT_THAT(groups->axes[0], ElementsAre(MapDigit{MapDigit::Of::channel, 2, 3}));
  EXPECT_THAT(groups->axes[1], ElementsAre(MapDigit{MapDigit::Of::channel, 3, 1}));
  EXPECT_EQ(groups->reshaped({6, 4, 5}), map);
  const auto flat = map.reshaped({120});
  ASSERT_TRUE(flat);
  EXPECT_EQ(flat->axes[0].size(), 3U);
  EXPECT_EQ(flat->reshaped({6, 1, 4, 1, 5})->shape(), (std::vector<std::int64_t>{6, 1, 4, 1, 5}));
}

TEST(MapView, RefusesWhatCutsADigitUnevenly) {
  const MapView map = MapView::of({6, 4, 5});
  EXPECT_FALSE(map.reshaped({4, 30}));
  EXPECT_FALSE(map.reshaped({6, 4, 4}));
  EXPECT_FALSE(map.reshaped({6, 4, 5, 2}));
  EXPECT_FALSE(map.reshaped({6, 4}));
}

TEST(MapView, KeepsTheOrderOfElementsInEveryReshape) {
  const auto seed = std::random_device{}();
  SCOPED_TRACE(::testing::Message() << "seed " << seed);
  std::mt19937 random(seed);
  const Shape3 shape{12, 6, 4};
  MapView view = MapView::of(shape);
  for (int step = 0; step < 200; ++step) {
    const auto before = view.order(shape);
    std::vector<std::int64_t> target;
    for (std::int64_t rest = view.elements(); rest > 1;) {
      std::int64_t extent = 1 + static_cast<std::int64_t>(random()) % rest;
      while (rest % extent != 0) --extent;
      target.push_back(extent);
      rest /= extent;
    }
    if (const auto next = view.reshaped(target)) {
      EXPECT_EQ(next->shape(), target);
      EXPECT_EQ(next->order(shape), before);
      view = *next;
      std::shuffle(view.axes.begin(), view.axes.end(), random);
    }
  }
}

}  // namespace
}  // namespace kasimir
