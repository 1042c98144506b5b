// SPDX-License-Identifier: Apache-2.0
// Tests of internal headers too: this file includes torch, with the layer's own folder for fmt first.
#include "fashion.h"
#include "support/thrown.h"

#include "kasimir/train/distillation.h"
#include "kasimir/train/trainer.h"
#include "kasimir/train/weight_average.h"

#include <ATen/ops/kl_div.h>
#include <ATen/ops/log_softmax.h>
#include <gmock/gmock.h>

#include <cmath>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;
using FinalistRecipe = OnFashion;

/// The decay of a step, as the header says it.
double decay_at(double decay, int step) { return std::min(decay, (1.0 + step) / (10.0 + step)); }

TEST(WeightAverage, IsItsClosedForm) {
  at::Tensor weight = at::full({3}, 5.0, at::kFloat);
  WeightAverage average({weight}, 0.5);
  std::vector<double> values = {5};
  for (int step = 1; step <= 12; ++step) {
    values.push_back(std::sin(step));
    weight.fill_(values.back());
    average.update(step);
  }
  double expected = 0;
  for (int n = 0; n <= 12; ++n) {
    double share = n == 0 ? 1 : 1 - decay_at(0.5, n);
    for (int later = n + 1; later <= 12; ++later) share *= decay_at(0.5, later);
    expected += share * values[static_cast<std::size_t>(n)];
  }
  EXPECT_NEAR(average.state().front()[1].item<double>(), expected, 1e-6);
  average.swap();
  EXPECT_NEAR(weight[0].item<double>(), expected, 1e-6);
  EXPECT_NEAR(average.state().front()[0].item<double>(), std::sin(12), 1e-6);
  average.swap();
  EXPECT_NEAR(weight[2].item<double>(), std::sin(12), 1e-6);
}

TEST(DistillationLoss, IsTheDivergenceBetweenSoftenedScores) {
  const std::uint64_t seed = 3;
  SCOPED_TRACE(fmt::format("seed {}", seed));
  Rng rng(seed);
  for (const double temperature : {1.0, 4.0}) {
    at::Tensor scores = at::empty({5, 7}, at::kFloat);
    at::Tensor teacher = at::empty({5, 7}, at::kFloat);
    for (at::Tensor* tensor : {&scores, &teacher})
      for (int i = 0; i < 35; ++i) tensor->data_ptr<float>()[i] = static_cast<float>(3 * rng.normal());
    double by_hand = 0;
    for (int n = 0; n < 5; ++n) {
      const auto softened = [&](const at::Tensor& of) {
        std::vector<double> shares;
        double sum = 0;
        for (int c = 0; c < 7; ++c) shares.push_back(std::exp(of[n][c].item<double>() / temperature));
        for (const double share : shares) sum += share;
        for (double& share : shares) share /= sum;
        return shares;
      };
      const auto found = softened(scores);
      const auto wanted = softened(teacher);
      for (std::size_t c = 0; c < 7; ++c) by_hand += wanted[c] * std::log(wanted[c] / found[c]);
    }
    by_hand *= temperature * temperature / 5;
    const double found = distillation_loss(scores, teacher, temperature).item<double>();
    EXPECT_NEAR(found, by_hand, 1e-4 * by_hand);
    const at::Tensor torch = at::kl_div(at::log_softmax(scores.div(temperature), 1),
                                        at::softmax(teacher.div(temperature), 1), at::Reduction::Sum);
    EXPECT_NEAR(found, torch.item<double>() * temperature * temperature / 5, 1e-4 * by_hand);
    EXPECT_NEAR(distillation_loss(scores, scores, temperature).item<double>(), 0, 1e-6);
  }
}

std::vector<std::vector<float>> weights_of(const TrainResult& trained) {
  std::vector<std::vector<float>> values;
  for (const NamedTensor& tensor : trained.model->tensors()) values.push_back(tensor.values);
  return values;
}

Recipe small_recipe() {
  Recipe recipe;
  recipe.epochs = 2;
  recipe.batch = 128;  // of 512 images: 4 steps an epoch
  recipe.crop_padding = 2;
  return recipe;
}

TEST_F(FinalistRecipe, KeepsTheAverageOfWeightsAndStatistics) {
  const Network network = small_network(0.5);
  const NetworkPlan plan{&network, {}};
  Recipe recipe = small_recipe();
  std::vector<std::vector<NamedTensor>> after = {Model(plan, {.seed = recipe.seed}).tensors()};
  for (int last = 1; last <= 8; ++last) {
    TrainObserver observer;
    observer.should_stop = [steps = 0, last]() mutable { return ++steps == last; };
    after.push_back(train(plan, data_, split_, recipe, observer).model->tensors());
  }
  recipe.average = 0.4;
  const TrainResult averaged = train(plan, data_, split_, recipe);
  const auto found = averaged.model->tensors();
  double largest = 0;
  for (std::size_t t = 0; t < found.size(); ++t) {
    for (std::size_t i = 0; i < found[t].values.size(); ++i) {
      double expected = after[0][t].values[i];
      for (int step = 1; step <= 8; ++step) {
        const double decay = decay_at(0.4, step);
        expected = decay * expected + (1 - decay) * after[static_cast<std::size_t>(step)][t].values[i];
      }
      largest = std::max(largest, std::abs(expected - found[t].values[i]));
    }
  }
  EXPECT_LT(largest, 1e-5);
  EXPECT_EQ(averaged.validation->loss, averaged.model->evaluate(data_.train, split_.validation).loss);
  EXPECT_EQ(averaged.curve.back().validation_loss, averaged.validation->loss);
  EXPECT_NE(averaged.validation->loss, train(plan, data_, split_, small_recipe()).validation->loss);
}

TEST_F(FinalistRecipe, LearnsFromTheTeacherAloneWhereItHasAllTheWeight) {
  const Network network = small_network(0.5);
  const Network large = small_network();
  Model teacher({&large, {}}, {.seed = 5});
  teacher.set_normalisation(channel_statistics(data_.train, split_.train));
  Dataset other = data_;
  for (auto& label : other.train.labels) label = (label + 1) % 10;
  Recipe recipe = small_recipe();
  recipe.epochs = 1;
  const auto weights = [&](const Dataset& data) {
    return weights_of(train({&network, {}}, data, split_, recipe, {}, {.teacher = &teacher}));
  };
  recipe.distill = 1;
  EXPECT_EQ(weights(data_), weights(other)) << "labels do not count";
  recipe.distill = 0.5;
  EXPECT_NE(weights(data_), weights(other));
}

TEST_F(FinalistRecipe, GoesOnFromACheckpointToTheSameWeights) {
  const Network network = small_network(0.5);
  const NetworkPlan plan{&network, {}};
  Model teacher(plan, {.seed = 5});
  teacher.set_normalisation(channel_statistics(data_.train, split_.train));
  Recipe recipe = small_recipe();
  recipe.average = 0.9;
  recipe.distill = 0.5;
  recipe.label_smoothing = 0.1;
  TrainStart start{.teacher = &teacher};
  const TrainResult whole = train(plan, data_, split_, recipe, {}, start);

  const auto folder = std::filesystem::temp_directory_path() / "kasimir_finalist_recipe_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  start.checkpoint = folder / "a.checkpoint";
  TrainObserver interrupt;
  interrupt.should_stop = [steps = 0]() mutable { return ++steps == 6; };  // in the second epoch
  EXPECT_TRUE(train(plan, data_, split_, recipe, interrupt, start).stopped);
  const TrainResult resumed = train(plan, data_, split_, recipe, {}, start);
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(weights_of(resumed), weights_of(whole));
  EXPECT_EQ(resumed.validation->loss, whole.validation->loss);
  const TrainResult again = train(plan, data_, split_, recipe, {}, start);
  EXPECT_EQ(weights_of(again), weights_of(whole)) << "a finished training is not trained again";
  EXPECT_EQ(again.validation->loss, whole.validation->loss);

  // Each of these makes it another training.
  Model other_teacher(plan, {.seed = 6});
  other_teacher.set_normalisation(teacher.normalisation());
  for (const int changed : {0, 1, 2, 3}) {
    Recipe other = recipe;
    TrainStart begun = start;
    if (changed == 0) other.average = 0.8;
    if (changed == 1) other.distill = 0.6;
    if (changed == 2) other.distill_temperature = 2;
    if (changed == 3) begun.teacher = &other_teacher;
    EXPECT_THAT(thrown_by([&] { train(plan, data_, split_, other, {}, begun); }),
                ::testing::HasSubstr("a.checkpoint: the checkpoint of another training"))
        << changed;
  }
  std::filesystem::remove_all(folder);
}

TEST_F(FinalistRecipe, SaysWhatIsWrong) {
  const Network network = small_network(0.5);
  const NetworkPlan plan{&network, {}};
  const auto error = [&](const Recipe& recipe, Model* teacher = nullptr) {
    return thrown_by([&] { train(plan, data_, split_, recipe, {}, {.teacher = teacher}); });
  };
  Recipe recipe = small_recipe();
  recipe.average = 1;
  EXPECT_EQ(error(recipe), "2: recipe: average is 1, needed is 0 or more and below 1");
  recipe.average = 0;
  recipe.distill = 1.5;
  EXPECT_EQ(error(recipe), "2: recipe: distill is 1.5, needed is 0 to 1");
  recipe.distill = 0.5;
  EXPECT_EQ(error(recipe), "2: recipe: distill is 0.5 without a teacher, needed are both or none");
  Model same(plan);
  EXPECT_EQ(
      error(recipe, &same),
      "2: the teacher resnet8 reads pixels with another mean and deviation than the network\n  train it on the same "
      "part of the data");
  recipe.distill_temperature = 0;
  EXPECT_EQ(error(recipe, &same), "2: recipe: distill_temperature is 0, needed is above 0");
  recipe = small_recipe();
  EXPECT_EQ(error(recipe, &same), "2: recipe: distill is 0 with a teacher, needed are both or none");
  const Network hundred = zoo_network("resnet8", {100, {1, 28, 28}, 0.5});
  Model wide({&hundred, {}});
  recipe.distill = 0.5;
  EXPECT_EQ(error(recipe, &wide),
            "2: network resnet8 with 100 classes of 1x28x28 cannot teach network resnet8 with 10 of 1x28x28");
}

TEST(RecipeText, NamesWhatIsUsedOnly) {
  Recipe recipe;
  EXPECT_THAT(recipe.str(), ::testing::Not(::testing::HasSubstr("averaged")));
  EXPECT_THAT(recipe.str(), ::testing::Not(::testing::HasSubstr("distilled")));
  recipe.average = 0.999;
  recipe.distill = 0.5;
  EXPECT_THAT(recipe.str(),
              ::testing::EndsWith(", weights averaged with decay 0.999, distilled with weight 0.5 at temperature 4"));
}

}  // namespace
}  // namespace kasimir
