// SPDX-License-Identifier: Apache-2.0
#include "support/thrown.h"

#include "kasimir/base/rng.h"
#include "kasimir/network/zoo.h"
#include "kasimir/train/trainer.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;

/// Grey images of one brightness with noise; the value to predict is the brightness, brought to mean 0, deviation 1.
ImageSet brightness(int count, std::uint64_t seed) {
  ImageSet images{.channels = 1, .height = 12, .width = 12, .pixels = {}, .labels = {}};
  Rng rng(seed);
  for (int i = 0; i < count; ++i) {
    const double value = 2 * rng.unit() - 1;
    images.labels.push_back(0);
    images.values.push_back(static_cast<float>(value * 1.7320508));  // a uniform number has deviation 1/sqrt(3)
    for (int p = 0; p < 144; ++p)
      images.pixels.push_back(static_cast<std::uint8_t>(128 + 80 * value + 10 * rng.unit()));
  }
  return images;
}

Dataset values() {
  Dataset data;
  data.name = "brightness";
  data.target = TargetKind::values;
  data.train = brightness(512, 1);
  data.test = brightness(64, 2);
  data.classes = {"y"};
  data.scales = {{0, 1}};
  return data;
}

Network network_of(std::int64_t outputs) {
  ZooOptions options = zoo_record("resnet8").defaults;
  options.width = 0.5;
  options.input = {1, 12, 12};
  options.classes = outputs;
  return zoo_network("resnet8", options);
}

Recipe quick() {
  Recipe recipe;
  recipe.epochs = 4;
  recipe.batch = 32;
  recipe.learning_rate = 0.02;
  recipe.crop_padding = 0;
  recipe.evaluate_test = true;
  return recipe;
}

TEST(Values, AreLearnedBySquaredError) {
  const Dataset data = values();
  const Network network = network_of(1);
  const TrainResult result = train({&network, {}}, data, split_validation(data.train, 0.2, 1), quick());
  ASSERT_TRUE(result.ok()) << result.failed->str();
  EXPECT_LT(result.curve.back().train_loss, 0.3 * result.curve.front().train_loss);
  EXPECT_GT(result.test->accuracy, 0.7);
  EXPECT_NEAR(result.test->accuracy, 1 - result.test->loss, 1e-9);
}

TEST(Values, AccuracyIsTheShareOfVarianceAndNeverBelowZero) {
  const ImageSet images = brightness(32, 3);
  const Network network = network_of(1);
  Model model({&network, {}});
  model.set_normalisation(channel_statistics(images, every_index(images)));
  for (NamedTensor tensor : model.tensors()) {
    if (tensor.name.find("bias") == std::string::npos || tensor.values.size() != 1) continue;
    tensor.values[0] = 100;  // of the last layer: every prediction is far off
    model.set_tensor(tensor.name, tensor.values);
  }
  const Score score = model.evaluate(images, every_index(images));
  double error = 0;
  const auto predicted = model.predict(images, every_index(images));
  for (std::size_t i = 0; i < predicted.size(); ++i) {
    const double miss = static_cast<double>(predicted[i][0]) - static_cast<double>(images.values[i]);
    error += miss * miss / static_cast<double>(predicted.size());
  }
  EXPECT_NEAR(score.loss, error, 1e-4 * error);
  EXPECT_EQ(score.accuracy, std::max(0.0, 1 - score.loss));
}

TEST(Values, MustBeAsManyAsTheNetworkGives) {
  const Dataset data = values();
  const Network network = network_of(3);
  const Split split = split_validation(data.train, 0.2, 1);
  EXPECT_EQ(thrown_by([&] { train({&network, {}}, data, split, quick()); }),
            "2: network resnet8 gives 3 numbers, data set brightness has 1 values");
}

TEST(Masks, AreRefusedWhereItTrains) {
  Dataset data = values();
  data.target = TargetKind::masks;
  const Network network = network_of(1);
  const Split split = split_validation(data.train, 0.2, 1);
  EXPECT_EQ(thrown_by([&] { train({&network, {}}, data, split, quick()); }),
            "2: the targets of data set brightness are masks, and network resnet8 gives one vector for each image\n"
            "  masks are read and described, but not trained on; train on classes or values");
}

}  // namespace
}  // namespace kasimir
