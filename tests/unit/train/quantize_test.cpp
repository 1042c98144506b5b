// SPDX-License-Identifier: Apache-2.0
#include "fashion.h"
#include "support/thrown.h"

#include "kasimir/number/catalog.h"
#include "kasimir/train/quantize.h"
#include "kasimir/train/trainer.h"

#include <gmock/gmock.h>

#include <cmath>
#include <set>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;
using Quantizing = OnFashion;

BitPlan all_places(const NetworkPlan& plan, int bits) {
  BitPlan wanted;
  for (const WeightedPlace& place : weighted_places(plan)) wanted[place.weight] = {bits, bits};
  return wanted;
}

Recipe quick() {
  Recipe recipe;
  recipe.epochs = 3;
  recipe.batch = 64;
  recipe.crop_padding = 2;
  return recipe;
}

TEST_F(Quantizing, MovesScoresLessTheMoreBitsThereAre) {
  const Network network = small_network();
  for (const NetworkPlan& plan : {NetworkPlan{&network, {}}, plan_with(network, grouped_text)}) {
    const TrainResult trained = train(plan, data_, split_, quick());
    Model& model = *trained.model;
    const auto scores = model.predict(data_.train, split_.validation);
    double last = INFINITY;
    for (const int bits : {2, 4, 8, 16}) {
      const Quantization q =
          calibrate(model, plan, data_.train, first(128), all_places(plan, bits), range_estimator("mse"));
      EXPECT_EQ(model.predict(data_.train, split_.validation), scores) << "calibration leaves the model as it is";
      ASSERT_EQ(q.size(), weighted_places(plan).size());
      model.set_quantization(q);
      EXPECT_EQ(model.quantization().size(), q.size());
      double off = 0;
      const auto rounded = model.predict(data_.train, split_.validation);
      for (std::size_t i = 0; i < scores.size(); ++i)
        for (std::size_t c = 0; c < scores[i].size(); ++c) off += std::abs(rounded[i][c] - scores[i][c]);
      EXPECT_LT(off, 0.7 * last) << bits << " bits";
      last = off;
      model.set_quantization({});
    }
    EXPECT_LT(last / static_cast<double>(scores.size() * scores[0].size()), 0.01) << "16 bits are nearly exact";
  }
}

TEST_F(Quantizing, TakesUnsignedCodesWhereNothingIsNegative) {
  const Network network = small_network();
  Model model({&network, {}});
  const Quantization q = calibrate(model, {&network, {}}, data_.train, first(64), all_places({&network, {}}, 4),
                                   range_estimator("min_max"));
  std::map<bool, int> is_signed;
  for (const auto& [name, place] : q) ++is_signed[place.activation.is_signed];
  EXPECT_EQ(is_signed[true], 1) << "the image alone has negative numbers: all else is read after a rectifier";
}

TEST_F(Quantizing, LearnsWithQuantisedOperandsAndMovesSteps) {
  const Network network = small_network();
  const NetworkPlan plan{&network, {}};
  const TrainResult plain = train(plan, data_, split_, quick());
  const Quantization q =
      calibrate(*plain.model, plan, data_.train, first(128), all_places(plan, 2), range_estimator("mse"));
  plain.model->set_quantization(q);
  const double before = plain.model->evaluate(data_.train, split_.validation).loss;
  plain.model->set_quantization({});
  Recipe recipe = quick();
  recipe.learning_rate = 0.02;
  TrainStart start;
  start.weights = plain.model.get();
  start.quantization = q;
  const TrainResult aware = train(plan, data_, split_, recipe, {}, start);
  ASSERT_TRUE(aware.ok()) << aware.failed->str();
  EXPECT_LT(aware.validation->loss, 0.8 * before);
  const Quantization learned = aware.model->quantization();
  ASSERT_EQ(learned.size(), q.size());
  int moved = 0;
  for (const auto& [name, place] : learned) {
    EXPECT_EQ(place.weight, q.at(name).weight);
    moved += place.activation_step != q.at(name).activation_step ? 1 : 0;
  }
  EXPECT_EQ(moved, static_cast<int>(q.size()));
}

TEST_F(Quantizing, EstimatesStatisticsAgainFromImages) {
  const Network network = small_network();
  const NetworkPlan plan =
      plan_with(network, "kernel normed\n  a = conv(x, to=Co, stride=yes)\n  b = norm(a)\nreturn b\n");
  const TrainResult trained = train(plan, data_, split_, quick());
  Model& model = *trained.model;
  const auto images = first(256);
  std::map<std::string, std::vector<float>> learned;
  for (const NamedTensor& tensor : model.tensors())
    if (tensor.learned) learned[tensor.name] = tensor.values;
  const double before = model.evaluate(data_.train, images).loss;
  int spoiled = 0;
  for (const NamedTensor& tensor : model.tensors()) {
    if (tensor.learned) continue;
    model.set_tensor(tensor.name, std::vector<float>(tensor.values.size(), 9.0F));
    ++spoiled;
  }
  ASSERT_GT(spoiled, 4);
  reestimate_statistics(model, data_.train, images);
  EXPECT_NEAR(model.evaluate(data_.train, images).loss, before, 0.25);
  for (const NamedTensor& tensor : model.tensors()) {
    if (!tensor.learned) continue;
    EXPECT_EQ(tensor.values, learned.at(tensor.name)) << tensor.name;
  }
}

TEST_F(Quantizing, EstimatesStatisticsFromImagesThatAreSortedByClass) {
  const Network network = small_network();
  const NetworkPlan plan{&network, {}};
  const TrainResult trained = train(plan, data_, split_, quick());
  Model& model = *trained.model;
  auto sorted = split_.train;
  std::ranges::stable_sort(sorted, {}, [&](std::int32_t i) { return data_.train.labels[static_cast<std::size_t>(i)]; });
  const double before = model.evaluate(data_.train, split_.validation).loss;
  reestimate_statistics(model, data_.train, sorted);
  // Batches of one class each would leave a network that guesses: a loss of 2.3 or more.
  EXPECT_NEAR(model.evaluate(data_.train, split_.validation).loss, before, 0.25);
}

TEST_F(Quantizing, ScoresEachPlaceAlone) {
  const Network network = small_network();
  const NetworkPlan plan{&network, {}};
  const TrainResult trained = train(plan, data_, split_, quick());
  Model& model = *trained.model;
  const double whole = model.evaluate(data_.train, split_.validation).loss;
  const Quantization q = calibrate(model, plan, data_.train, first(128), all_places(plan, 2), range_estimator("mse"));
  std::vector<std::size_t> heard;
  const auto found =
      sensitivities(model, q, data_.train, split_.validation, [&](std::size_t done) { heard.push_back(done); });
  ASSERT_EQ(found.size(), q.size());
  EXPECT_EQ(heard.size(), q.size());
  EXPECT_EQ(heard.back(), q.size());
  std::set<double> losses;
  for (const Sensitivity& s : found) losses.insert(s.score.loss);
  EXPECT_GT(losses.size(), q.size() / 2) << "places differ";
  EXPECT_EQ(model.evaluate(data_.train, split_.validation).loss, whole);
}

TEST_F(Quantizing, RoundsByALawfulRuleAsItsQuantizationDoes) {
  const Network network = small_network();
  const NetworkPlan plan{&network, {}};
  const TrainResult trained = train(plan, data_, split_, quick());
  Model& model = *trained.model;
  const auto& mse = range_estimator("mse");
  const BitPlan bits = all_places(plan, 3);
  const Score rounded =
      score_rounded(model, plan, data_.train, first(128), bits, {&quantizer("symmetric"), &mse, true}, {}, data_.test);
  const double plain = model.evaluate(data_.test, every_index(data_.test)).loss;
  model.set_quantization(calibrate(model, plan, data_.train, first(128), bits, mse));
  EXPECT_NEAR(model.evaluate(data_.test, every_index(data_.test)).loss, rounded.loss, 1e-3);
  EXPECT_GT(std::abs(plain - rounded.loss), 1e-3) << "3 bits change something";
}

TEST_F(Quantizing, OutliersStretchTheWholeRangeMoreThanTheBestOne) {
  const Network network = small_network();
  const NetworkPlan plan{&network, {}};
  const TrainResult trained = train(plan, data_, split_, quick());
  const auto step = [&](const char* range, const Outliers& outliers) {
    return calibrate(*trained.model, plan, data_.train, first(256), all_places(plan, 4), range_estimator(range),
                     outliers)
        .at("stem.conv.weight")
        .activation_step;
  };
  const Outliers outliers{.images = 0.02};
  const double whole = step("min_max", outliers) / step("min_max", {});
  EXPECT_GT(whole, 4);
  EXPECT_LT(step("mse", outliers) / step("mse", {}), 0.6 * whole);
  EXPECT_EQ(step("min_max", {.images = 0.02, .pixels = 0}), step("min_max", {}));
}

TEST_F(Quantizing, RefusesWhatItCannotDo) {
  const Network network = small_network();
  const NetworkPlan plan{&network, {}};
  Model model(plan);
  const auto& mse = range_estimator("mse");
  EXPECT_EQ(thrown_by([&] { calibrate(model, plan, data_.train, {}, all_places(plan, 8), mse); }),
            "2: no images to calibrate on");
  EXPECT_EQ(thrown_by([&] { calibrate(model, plan, data_.train, first(4), {{"stem.conv.wieght", {8, 8}}}, mse); }),
            "2: no weighted place `stem.conv.wieght`, did you mean `stem.conv.weight`?");
  EXPECT_EQ(thrown_by([&] { calibrate(model, plan, data_.train, first(4), {{"stem.conv.weight", {8, 9}}}, mse); }),
            "2: stem.conv.weight, activations: 9 bits, needed are 2 to 8 or 16");
  EXPECT_EQ(thrown_by([&] { model.set_quantization({{"nothing.weight", {}}}); }),
            "2: network resnet8 has no weight nothing.weight");
}

TEST_F(Quantizing, GoesOnFromACheckpointToTheSameWeights) {
  const Network network = small_network();
  const NetworkPlan plan{&network, {}};
  const auto folder = std::filesystem::temp_directory_path() / "kasimir_checkpoint_test";
  std::filesystem::remove_all(folder);
  std::filesystem::create_directories(folder);
  Model start_model(plan);
  TrainStart start;
  start.weights = &start_model;
  start.quantization =
      calibrate(start_model, plan, data_.train, first(128), all_places(plan, 4), range_estimator("mse"));
  const TrainResult whole = train(plan, data_, split_, quick(), {}, start);

  start.checkpoint = folder / "a.checkpoint";
  TrainObserver interrupt;
  std::int64_t steps = 0;
  interrupt.should_stop = [&] { return ++steps == 11; };  // in the second epoch of three, with 8 steps each
  EXPECT_TRUE(train(plan, data_, split_, quick(), interrupt, start).stopped);
  const TrainResult resumed = train(plan, data_, split_, quick(), {}, start);
  ASSERT_TRUE(resumed.ok());
  EXPECT_EQ(resumed.curve.size(), 3U);
  EXPECT_EQ(resumed.steps, whole.steps);
  EXPECT_EQ(resumed.validation->loss, whole.validation->loss);
  EXPECT_EQ(resumed.model->quantization(), whole.model->quantization());
  const TrainResult again = train(plan, data_, split_, quick(), {}, start);
  EXPECT_EQ(again.validation->loss, whole.validation->loss) << "a finished training is not trained again";

  Recipe other = quick();
  other.learning_rate = 0.2;
  EXPECT_THAT(thrown_by([&] { train(plan, data_, split_, other, {}, start); }),
              ::testing::HasSubstr("a.checkpoint: the checkpoint of another training"));
  // Another training is also one that differs only in what it starts from: bits, steps or weights.
  for (const int changed : {0, 1, 2}) {
    TrainStart begun = start;
    Model shifted(plan);
    auto& [weight, place] = *begun.quantization.begin();
    if (changed == 0) place.weight.bits = 3;
    if (changed == 1) place.activation_step *= 2;
    if (changed == 2) {
      auto tensors = shifted.tensors();
      tensors.front().values.front() += 1;
      shifted.set_tensors(tensors);
      begun.weights = &shifted;
    }
    EXPECT_THAT(thrown_by([&] { train(plan, data_, split_, quick(), {}, begun); }),
                ::testing::HasSubstr("a.checkpoint: the checkpoint of another training"))
        << changed;
  }
  std::filesystem::remove_all(folder);
}

}  // namespace
}  // namespace kasimir
