// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/resize.h"

#include "data_files.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kasimir {
namespace {

using Plane = std::vector<std::uint8_t>;

std::size_t area(ImageSize size) {
  return static_cast<std::size_t>(size.height) * static_cast<std::size_t>(size.width);
}

Plane resize(const Plane& source, ImageSize from, ImageSize to) {
  Plane target(area(to));
  Resizer(from, to).apply(source, target);
  return target;
}

TEST(Resize, KeepsAnImageOfTheSameSize) {
  Plane source(area({5, 7}));
  std::iota(source.begin(), source.end(), std::uint8_t{11});
  EXPECT_EQ(resize(source, {5, 7}, {5, 7}), source);
}

TEST(Resize, KeepsAConstant) {
  for (const ImageSize to : {ImageSize{1, 1}, ImageSize{3, 17}, ImageSize{64, 2}})
    EXPECT_EQ(resize(Plane(area({9, 6}), 201), {9, 6}, to), Plane(area(to), 201));
}

// Halving takes 1/8, 3/8, 3/8, 1/8 of four neighbours; at the border the three that exist, scaled to 1.
TEST(Resize, AveragesOverTheAreaWhenItShrinks) {
  EXPECT_EQ(resize({0, 80, 160, 240, 0, 80}, {1, 6}, {1, 3}), (Plane{57, 160, 69}));
  EXPECT_EQ(resize({0, 80, 160, 240, 0, 80}, {6, 1}, {3, 1}), (Plane{57, 160, 69}));
}

// Centres of the new pixels lie at 1/4 and 3/4 of the old ones.
TEST(Resize, InterpolatesWhenItEnlarges) {
  EXPECT_EQ(resize({0, 100}, {1, 2}, {1, 4}), (Plane{0, 25, 75, 100}));
  EXPECT_EQ(resize({0, 100, 40, 200}, {2, 2}, {4, 4}),
            (Plane{0, 25, 75, 100, 10, 39, 96, 125, 30, 66, 139, 175, 40, 80, 160, 200}));
}

TEST(Resize, TreatsAMirroredImageAlike) {
  const Plane source = {3, 90, 250, 14, 77};
  const Plane mirrored(source.rbegin(), source.rend());
  const Plane result = resize(mirrored, {1, 5}, {1, 3});
  EXPECT_EQ(resize(source, {1, 5}, {1, 3}), Plane(result.rbegin(), result.rend()));
}

TEST(Resize, ChecksTheExtents) {
  EXPECT_EQ(test::error_of([] { Resizer({0, 4}, {2, 2}); }).substr(0, 40), "exit 70: internal error: 0 x 4 to 2 x 2 ");
}

}  // namespace
}  // namespace kasimir
