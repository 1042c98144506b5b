// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/moments.h"

#include "kasimir/base/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <filesystem>

namespace kasimir {
namespace {

using ::testing::ElementsAre;

Network two_channels() {
  NetworkBuilder builder("net", {1, 3, 5});
  builder.add("conv", layer::Conv{.out = 2, .bias = true}, {0});
  builder.add("relu", layer::Activation{}, {1});
  builder.add("mean", layer::GlobalAvgPool{}, {2});
  return std::move(builder).finish();
}

TEST(Moments, AreThoseOfAllPlacesOfAllImages) {
  const Network network = two_channels();
  Model model({&network, {}});
  model.set_normalisation({{0}, {1}});
  model.set_tensor("conv.weight", {2, -1});
  model.set_tensor("conv.bias", {0.5, 0});
  // More images than one batch has.
  ImageSet images{.channels = 1, .height = 3, .width = 5, .pixels = {}, .labels = std::vector<std::int32_t>(70, 0)};
  Rng random(1);
  double sum = 0;
  double squares = 0;
  for (std::size_t i = 0; i < 70 * 15; ++i) {
    images.pixels.push_back(static_cast<std::uint8_t>(random.below(256)));
    const double value = images.pixels.back() / 255.0;
    sum += value / (70 * 15);
    squares += value * value / (70 * 15);
  }
  const double variance = squares - sum * sum;
  std::vector<std::int32_t> all(70);
  for (std::size_t i = 0; i < all.size(); ++i) all[i] = static_cast<std::int32_t>(i);
  const std::vector<int> layers{1};
  const auto moments = channel_moments(model, layers, images, all);
  ASSERT_EQ(moments.size(), 1U);
  EXPECT_NEAR(moments.at(1).mean[0], 2 * sum + 0.5, 1e-5);
  EXPECT_NEAR(moments.at(1).mean[1], -sum, 1e-5);
  EXPECT_NEAR(moments.at(1).variance[0], 4 * variance, 1e-5);
  EXPECT_NEAR(moments.at(1).variance[1], variance, 1e-5);
}

TEST(SavedShapes, AreThoseOfTheTensorsInTheFile) {
  const Network network = two_channels();
  const Model model({&network, {}});
  const auto path = std::filesystem::path(::testing::TempDir()) / "moments_test.pt";
  model.save(path);
  const auto shapes = saved_shapes(path);
  EXPECT_THAT(shapes.at("conv.weight"), ElementsAre(2, 1, 1, 1));
  EXPECT_THAT(shapes.at("conv.bias"), ElementsAre(2));
  std::filesystem::remove(path);
}

}  // namespace
}  // namespace kasimir
