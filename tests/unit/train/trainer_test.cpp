// SPDX-License-Identifier: Apache-2.0
#include "fashion.h"
#include "support/thrown.h"

#include "kasimir/train/trainer.h"

#include <gmock/gmock.h>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;
using Trainer = OnFashion;

Recipe quick() {
  Recipe recipe;
  recipe.epochs = 2;
  recipe.batch = 64;
  recipe.crop_padding = 2;
  return recipe;
}

std::vector<double> losses(const TrainResult& result) {
  std::vector<double> all;
  for (const EpochRow& row : result.curve) all.push_back(row.train_loss);
  return all;
}

TEST_F(Trainer, LowersTheLossOnRealImages) {
  const Network network = small_network();
  const TrainResult result = train({&network, {}}, data_, split_, quick());
  ASSERT_TRUE(result.ok()) << result.failed->str();
  ASSERT_EQ(result.curve.size(), 2U);
  EXPECT_LT(result.curve[1].train_loss, 0.8 * result.curve[0].train_loss);
  EXPECT_GT(result.curve[1].train_accuracy, 0.4);
  EXPECT_EQ(result.steps, 16);
  EXPECT_EQ(result.validation->images, 128);
  EXPECT_EQ(result.validation->accuracy, result.curve[1].validation_accuracy);
  EXPECT_GT(result.images_per_second, 0);
  EXPECT_THAT(result.machine, ::testing::HasSubstr("torch"));
}

TEST_F(Trainer, LowersTheLossWithKernels) {
  const Network network = small_network();
  const TrainResult result = train(plan_with(network, grouped_text), data_, split_, quick());
  ASSERT_TRUE(result.ok()) << result.failed->str();
  EXPECT_LT(result.curve[1].train_loss, 0.95 * result.curve[0].train_loss);
}

TEST_F(Trainer, RepeatsACurveForASeedAndNotForAnother) {
  const Network network = small_network();
  const NetworkPlan plan = plan_with(network, grouped_text);
  Recipe recipe = quick();
  recipe.epochs = 1;
  const auto once = losses(train(plan, data_, split_, recipe));
  EXPECT_EQ(losses(train(plan, data_, split_, recipe)), once);
  recipe.seed = 2;
  EXPECT_NE(losses(train(plan, data_, split_, recipe)), once);
}

TEST_F(Trainer, RecordsADivergence) {
  const Network network = small_network();
  Recipe recipe = quick();
  recipe.learning_rate = 1e30;
  recipe.warmup = 0;
  const TrainResult result = train({&network, {}}, data_, split_, recipe);
  ASSERT_TRUE(result.failed);
  EXPECT_EQ(result.failed->rule, "diverged");
  EXPECT_THAT(result.failed->with, ::testing::MatchesRegex("loss is -?(nan|inf) in epoch 1 step [0-9]+"));
  EXPECT_FALSE(result.ok());
}

TEST_F(Trainer, RecordsThatTimeIsOver) {
  const Network network = small_network();
  Recipe recipe = quick();
  recipe.time_limit_s = 1e-6;
  const TrainResult result = train({&network, {}}, data_, split_, recipe);
  ASSERT_TRUE(result.failed);
  EXPECT_EQ(result.failed->str(), "time limit (1e-06 s were over in epoch 1 of 2, step 1 of 8)");
  EXPECT_FALSE(result.validation);
}

TEST_F(Trainer, RecordsThatMemoryIsOver) {
  const Network network = small_network();
  Recipe recipe = quick();
  recipe.memory_limit = 4'000'000;
  const TrainResult result = train({&network, {}}, data_, split_, recipe);
  ASSERT_TRUE(result.failed);
  EXPECT_EQ(result.failed->rule, "out of memory");
  EXPECT_THAT(result.failed->with, ::testing::MatchesRegex("[0-9.]+MB of tensors, 4MB allowed"));
  recipe.memory_limit = 2'000'000'000;
  recipe.epochs = 1;
  EXPECT_TRUE(train({&network, {}}, data_, split_, recipe).ok());
}

TEST_F(Trainer, StopsWhenTheObserverSaysSo) {
  const Network network = small_network();
  int asked = 0;
  TrainObserver observer;
  observer.should_stop = [&] { return ++asked == 3; };
  const TrainResult result = train({&network, {}}, data_, split_, quick(), observer);
  EXPECT_TRUE(result.stopped);
  EXPECT_FALSE(result.failed);
  EXPECT_FALSE(result.ok());
  EXPECT_EQ(result.steps, 3);
}

TEST_F(Trainer, ReportsEachEpochWithItsRate) {
  const Network network = small_network(0.5);
  std::vector<EpochRow> rows;
  TrainObserver observer;
  observer.epoch = [&](const EpochRow& row) { rows.push_back(row); };
  Recipe recipe = quick();
  recipe.warmup = 0.5;
  const TrainResult result = train({&network, {}}, data_, split_, recipe, observer);
  ASSERT_EQ(rows.size(), 2U);
  EXPECT_EQ(rows[0].epoch, 1);
  EXPECT_EQ(rows[1].epoch, 2);
  EXPECT_NEAR(rows[0].learning_rate, 0.1 * 8 / 9, 1e-12);                          // the last of 8 rising steps
  EXPECT_NEAR(rows[1].learning_rate, 0.05 * (1 + std::cos(M_PI * 7 / 8)), 1e-12);  // the last of 8 falling ones
  EXPECT_GT(rows[1].seconds, 0);
  EXPECT_EQ(result.curve.size(), rows.size());
}

TEST_F(Trainer, ReadsTheTestSplitOnlyIfAsked) {
  const Network network = small_network(0.5);
  Recipe recipe = quick();
  recipe.epochs = 1;
  EXPECT_FALSE(train({&network, {}}, data_, split_, recipe).test);
  recipe.evaluate_test = true;
  const TrainResult result = train({&network, {}}, data_, split_, recipe);
  ASSERT_TRUE(result.test);
  EXPECT_EQ(result.test->images, 128);
}

/// One pooled pixel and one fully connected layer: a step of softmax regression, by hand.
TEST_F(Trainer, TakesTheStepThatTheEquationsSay) {
  NetworkBuilder build("regression", {1, 28, 28});
  const int pooled = build.add("pool", layer::GlobalAvgPool{}, {0});
  build.add("fc", layer::Linear{0, 10, true}, {pooled});
  const Network network = std::move(build).finish();
  const Split split{first(32), {40, 41}};
  Recipe recipe;
  recipe.epochs = 1;
  recipe.batch = 32;
  recipe.warmup = 0;
  recipe.weight_decay = 0.5;
  recipe.crop_padding = 0;
  recipe.flip = false;
  Model before({&network, {}}, {.seed = recipe.seed});
  const auto weight = before.tensors()[0].values;
  const auto bias = before.tensors()[1].values;
  const ChannelStatistics statistics = channel_statistics(data_.train, split.train);
  std::vector<double> weight_step(10, 0.0);
  std::vector<double> bias_step(10, 0.0);
  for (std::int32_t index : split.train) {
    double x = 0.0;
    for (std::uint8_t pixel : data_.train.image(index))
      x += (pixel / 255.0 - statistics.mean[0]) / statistics.deviation[0] / 784;
    double total = 0.0;
    std::vector<double> p(10);
    for (std::size_t k = 0; k < 10; ++k) total += p[k] = std::exp(weight[k] * x + bias[k]);
    for (std::size_t k = 0; k < 10; ++k) {
      const bool is_label = data_.train.labels[static_cast<std::size_t>(index)] == static_cast<std::int32_t>(k);
      const double error = (p[k] / total - (is_label ? 1.0 : 0.0)) / 32;
      weight_step[k] += error * x;
      bias_step[k] += error;
    }
  }
  const TrainResult result = train({&network, {}}, data_, split, recipe);
  const auto after = result.model->tensors();
  // With momentum m and Nesterov's form, the first step is (1 + m) times the gradient; the rate starts at its highest.
  for (std::size_t k = 0; k < 10; ++k) {
    EXPECT_NEAR(after[0].values[k], weight[k] - 0.1 * 1.9 * (weight_step[k] + 0.5 * weight[k]), 1e-5);
    EXPECT_NEAR(after[1].values[k], bias[k] - 0.1 * 1.9 * bias_step[k], 1e-5);
  }
}

TEST_F(Trainer, TrainsInBfloat16) {
  const Network network = small_network();
  Recipe recipe = quick();
  recipe.precision = Precision::mixed;
  const TrainResult result = train(plan_with(network, convolution_text), data_, split_, recipe);
  ASSERT_TRUE(result.ok()) << result.failed->str();
  EXPECT_LT(result.curve[1].train_loss, 0.8 * result.curve[0].train_loss);
}

TEST_F(Trainer, NamesWhatDoesNotFit) {
  const Network wide = zoo_network("resnet8", {10, {3, 28, 28}, 1.0});
  EXPECT_EQ(thrown_by([&] { return train({&wide, {}}, data_, split_, quick()); }),
            "2: network resnet8 takes images of 3x28x28, data set fashion-mnist has 1x28x28");
  const Network few = zoo_network("resnet8", {4, {1, 28, 28}, 1.0});
  EXPECT_EQ(thrown_by([&] { return train({&few, {}}, data_, split_, quick()); }),
            "2: network resnet8 tells 4 classes apart, data set fashion-mnist has 10");
  const Network network = small_network();
  EXPECT_EQ(thrown_by([&] { return train({&network, {}}, data_, {{1, 2}, {}}, quick()); }),
            "2: data set fashion-mnist: 2 images to train on and 0 to validate on, needed are at least 2 and 1");
}

TEST(RecipeCheck, NamesTheFieldOutOfRange) {
  const auto complaint = [](auto change) {
    Recipe recipe;
    change(recipe);
    return thrown_by([&] {
      recipe.check();
      return 0;
    });
  };
  EXPECT_EQ(complaint([](Recipe&) {}), "nothing was thrown");
  EXPECT_EQ(complaint([](Recipe& r) { r.epochs = 0; }), "2: recipe: epochs is 0, needed is at least 1");
  EXPECT_EQ(complaint([](Recipe& r) { r.batch = 1; }), "2: recipe: batch is 1, needed is at least 2");
  EXPECT_EQ(complaint([](Recipe& r) { r.learning_rate = -1; }), "2: recipe: learning_rate is -1, needed is above 0");
  EXPECT_EQ(complaint([](Recipe& r) { r.warmup = 1; }), "2: recipe: warmup is 1, needed is 0 or more and below 1");
  EXPECT_EQ(complaint([](Recipe& r) { r.momentum = 0; }), "2: recipe: momentum is 0, needed is above 0 with nesterov");
}

TEST(RecipeText, IsOneLine) {
  EXPECT_EQ(Recipe{}.str(),
            "2 epochs, batch 128, rate 0.1 with warmup 0.2 and cosine, momentum 0.9 nesterov, weight decay 0.0005, "
            "label smoothing 0, crop 4, flip yes, seed 1, 1 threads, cpu, precision automatic");
}

}  // namespace
}  // namespace kasimir
