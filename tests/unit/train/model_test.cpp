// SPDX-License-Identifier: Apache-2.0
#include "fashion.h"
#include "support/thrown.h"

#include "kasimir/base/files.h"
#include "kasimir/interp/real.h"
#include "kasimir/train/trainer.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;
using ModelOnImages = OnFashion;

/// Random images of a size that no data set here has.
ImageSet noise(int channels, int height, int width, std::size_t count) {
  ImageSet set{channels, height, width, {}, {}};
  Rng rng(5);
  set.pixels.resize(count * set.image_bytes());
  for (std::uint8_t& pixel : set.pixels) pixel = static_cast<std::uint8_t>(rng.below(256));
  set.labels.assign(count, 0);
  return set;
}

std::filesystem::path scratch(const char* name) { return std::filesystem::path(::testing::TempDir()) / name; }

TEST_F(ModelOnImages, GivesTheSameScoresAfterSaveAndLoad) {
  const Network network = small_network(0.5);
  const NetworkPlan plan = plan_with(network, "kernel k\n  a = conv(x, to=Co, stride=yes)\n  b = norm(a)\nreturn b\n");
  Recipe recipe;
  recipe.epochs = 1;
  const TrainResult trained = train(plan, data_, split_, recipe);
  const auto path = scratch("model.pt");
  trained.model->save(path);
  Model other(plan, {.seed = 99});
  const auto expected = trained.model->predict(data_.test, first(20));
  EXPECT_NE(other.predict(data_.test, first(20)), expected);
  other.load(path);
  EXPECT_EQ(other.predict(data_.test, first(20)), expected);
}

TEST(Model, StartsFromTheWeightsThatItsNetworkCameWith) {
  const Network bare = small_network(0.5);
  const auto weights = random_weights({&bare, {}}, 3);
  const Network network = Network(bare).with_start(weights);
  const auto found = Model({&network, {}}).tensors();
  ASSERT_EQ(found.size(), weights.size());
  for (const NamedTensor& tensor : found) {
    const auto wanted = std::ranges::find(weights, tensor.name, &NamedTensor::name);
    ASSERT_NE(wanted, weights.end()) << tensor.name;
    EXPECT_EQ(tensor.values, wanted->values) << tensor.name;
  }
}

TEST(ModelFile, NamesWhatIsWrongWithIt) {
  const Network network = small_network(0.5);
  const Network wider = small_network(1.0);
  Model model({&network, {}});
  const auto text = scratch("text.pt");
  write_file(text, "no model");
  EXPECT_EQ(thrown_by([&] {
              model.load(text);
              return 0;
            }),
            "2: " + text.string() + ": not a saved model");
  const auto path = scratch("wider.pt");
  Model({&wider, {}}).save(path);
  EXPECT_EQ(thrown_by([&] {
              model.load(path);
              return 0;
            }),
            "2: " + path.string() + ": tensor stem.conv.weight is 16x1x3x3, needed is 8x1x3x3");
  Model(plan_with(network, convolution_text)).save(path);
  EXPECT_THAT(thrown_by([&] {
                model.load(path);
                return 0;
              }),
              ::testing::MatchesRegex("2: .*wider.pt: holds no tensor .*\\.weight, which network resnet8 has"));
}

TEST(ModelTensors, AreNamedAndCounted) {
  const Network network = small_network();
  const Model model({&network, {}});
  EXPECT_EQ(model.parameters(), network.cost().params);
  Model other({&network, {}});
  EXPECT_EQ(thrown_by([&] {
              other.set_tensor("nothing", {});
              return 0;
            }),
            "2: network resnet8 has no tensor nothing");
  EXPECT_EQ(thrown_by([&] {
              other.set_tensor("stem.conv.weight", {1.0F});
              return 0;
            }),
            "2: tensor stem.conv.weight has 144 values, given are 1");
}

TEST(ModelStart, FollowsTheSeedAndTheRoles) {
  const Network network = small_network();
  const NetworkPlan plan = plan_with(network, "kernel k\n  a = conv(x, to=Co, stride=yes)\n  b = norm(a)\nreturn b\n");
  const auto once = Model(plan, {.seed = 3}).tensors();
  const auto again = Model(plan, {.seed = 3}).tensors();
  const auto other = Model(plan, {.seed = 4}).tensors();
  bool differs = false;
  for (std::size_t i = 0; i < once.size(); ++i) {
    EXPECT_EQ(once[i].values, again[i].values) << once[i].name;
    differs = differs || once[i].values != other[i].values;
    if (!once[i].name.ends_with(".w0")) continue;
    double squares = 0.0;
    for (float v : once[i].values) squares += v * v;
    const double fan_in = static_cast<double>(once[i].shape[1] * 9);
    // 16 * 16 * 9 normal numbers or more: the mean square is within 10 % of the variance at over 3 deviations.
    EXPECT_NEAR(squares / static_cast<double>(once[i].values.size()) * fan_in, 1.0, 0.1) << once[i].name;
    EXPECT_EQ(once[i + 1].values, std::vector<float>(once[i + 1].values.size(), 1.0F));
    EXPECT_EQ(once[i + 2].values, std::vector<float>(once[i + 2].values.size(), 0.0F));
  }
  EXPECT_TRUE(differs);
}

/// The same weights in the network's own convolutions and in kernels that mean the same.
void expect_equal_scores(const Network& network, std::string_view kernel, const ImageSet& images) {
  Model original({&network, {}});
  const NetworkPlan plan = plan_with(network, kernel);
  Model replaced(plan);
  for (const NamedTensor& tensor : original.tensors()) {
    std::string name = tensor.name;
    for (const auto& [index, replacement] : plan.replaced) {
      const std::string& layer = network.layer(index).name;
      if (name == layer + ".weight") name = layer + ".w0";
    }
    replaced.set_tensor(name, tensor.values);
  }
  const auto indices = first(static_cast<std::size_t>(images.size()));
  const auto expected = original.predict(images, indices);
  const auto found = replaced.predict(images, indices);
  for (std::size_t i = 0; i < expected.size(); ++i)
    for (std::size_t k = 0; k < expected[i].size(); ++k)
      EXPECT_NEAR(found[i][k], expected[i][k], 1e-4 * (1 + std::abs(expected[i][k])));
}

TEST(ConvolutionKernel, EqualsTheConvolutionsOfTheNetwork) {
  // Sites with stride 1 and 2, and with as many channels out as in and with twice as many.
  expect_equal_scores(zoo_network("resnet8", {10, {3, 32, 32}, 1.0}), convolution_text, noise(3, 32, 32, 3));
}

TEST(ConvolutionKernel, EqualsThemOnOddMapsUnderStride) {
  // 30 -> 15 -> 8: the second stride reads a map with a row less than the kernel declares.
  expect_equal_scores(zoo_network("resnet8", {10, {3, 30, 30}, 1.0}), convolution_text, noise(3, 30, 30, 2));
}

TEST(ConvolutionKernel, AsWindowAndLinearMapEqualsThemToo) {
  expect_equal_scores(zoo_network("resnet8", {10, {3, 30, 30}, 1.0}),
                      "kernel k\n  a = unfold(x)\n  b = stride(a)\n  c = linear(b, to=Co)\nreturn c\n",
                      noise(3, 30, 30, 2));
}

TEST(Zoo, RunsForwardWithOneScorePerClass) {
  struct Case {
    const char* name;
    Shape3 input;
  };
  const Case cases[] = {{"resnet8", {3, 32, 32}}, {"resnet20", {1, 28, 28}},     {"resnet18", {3, 32, 32}},
                        {"vgg16", {3, 32, 32}},   {"mobilenet_v2", {3, 64, 64}}, {"densenet121", {3, 64, 64}}};
  for (const Case& c : cases) {
    const Network network = zoo_network(c.name, {7, c.input, 0.25});
    const Model model({&network, {}});
    EXPECT_EQ(model.parameters(), network.cost().params) << c.name;
    const auto scores = model.predict(
        noise(static_cast<int>(c.input.c), static_cast<int>(c.input.h), static_cast<int>(c.input.w), 2), first(2));
    ASSERT_EQ(scores.size(), 2U) << c.name;
    ASSERT_EQ(scores[0].size(), 7U) << c.name;
    for (float score : scores[0]) EXPECT_TRUE(std::isfinite(score)) << c.name;
    EXPECT_NE(scores[0], scores[1]) << c.name;
  }
}

/// One kernel with batch norm, then the mean over the map: small enough for the interpreter.
class NormKernel : public OnFashion {
 protected:
  NormKernel()
      : network_(make()),
        kernel_(parse_kernel("kernel k\n  a = conv(x, to=Co)\n  b = norm(a)\nreturn b\n", catalog())) {
    plan_.network = &network_;
    plan_.replaced.emplace(1, std::pair(kernel_, site_));
  }
  static Network make() {
    NetworkBuilder build("tiny", {1, 28, 28});
    const int conv = build.add("conv", layer::Conv{0, 10, 3, 3, 1, 1, 1}, {0});
    build.add("pool", layer::GlobalAvgPool{}, {conv});
    return std::move(build).finish();
  }
  /// Values of the graph for a model's tensors and one batch of images.
  TensorValues<double> values(const BoundGraph& graph, const Model& model, const std::vector<std::int32_t>& images) {
    TensorValues<double> all(graph.tensors.size());
    for (const NamedTensor& tensor : model.tensors())
      for (std::size_t t = 0; t < graph.tensors.size(); ++t)
        if (tensor.name == "conv." + graph.tensors[t].name && graph.tensors[t].role != Role::between)
          all[t].assign(tensor.values.begin(), tensor.values.end());
    const ChannelStatistics statistics = channel_statistics(data_.train, first(8));
    for (std::int32_t image : images)
      for (std::uint8_t pixel : data_.train.image(image))
        all[0].push_back((pixel / 255.0 - statistics.mean[0]) / statistics.deviation[0]);
    return all;
  }

  Site site_{1, 10, 28, 28, 1};
  Network network_;
  Kernel kernel_;
  NetworkPlan plan_;
};

TEST_F(NormKernel, EqualsTheFrozenGraphAtInference) {
  Recipe recipe;
  recipe.epochs = 4;
  recipe.batch = 8;
  const TrainResult trained = train(plan_, data_, {first(8), {8}}, recipe);
  ASSERT_TRUE(trained.ok()) << trained.failed->str();
  const BoundGraph frozen = freeze(*lower_at(kernel_, site_, 1));
  TensorValues<double> all = values(frozen, *trained.model, {20});
  RealDomain domain;
  evaluate(frozen, domain, all);
  const auto scores = trained.model->predict(data_.train, std::vector<std::int32_t>{20}).front();
  const auto& map = all[static_cast<std::size_t>(frozen.output)];
  for (std::size_t k = 0; k < 10; ++k) {
    double mean = 0.0;
    for (std::size_t p = 0; p < 784; ++p) mean += map[k * 784 + p] / 784;
    EXPECT_NEAR(scores[k], mean, 1e-4);
  }
}

TEST_F(NormKernel, MovesItsStatisticsTowardsThoseOfTheBatch) {
  Recipe recipe;
  recipe.epochs = 1;
  recipe.batch = 8;
  recipe.crop_padding = 0;
  recipe.flip = false;
  const TrainResult trained = train(plan_, data_, {first(8), {8}}, recipe);  // one step
  const BoundGraph graph = *lower_at(kernel_, site_, 8);
  TensorValues<double> all = values(graph, Model(plan_, {.seed = recipe.seed}), first(8));
  RealDomain domain;
  evaluate(graph, domain, all);
  int statistics = 0;
  for (const BoundStage& stage : graph.stages) {
    if (!stage.stat) continue;
    const auto& batch = all[static_cast<std::size_t>(stage.out)];
    for (const NamedTensor& tensor : trained.model->tensors()) {
      if (tensor.name != "conv." + graph.tensors[static_cast<std::size_t>(stage.out)].name) continue;
      ++statistics;
      for (std::size_t k = 0; k < batch.size(); ++k)
        EXPECT_NEAR(tensor.values[k], 0.9 * stage.stat->start + 0.1 * batch[k], 1e-5 * (1 + batch[k]));
    }
  }
  EXPECT_EQ(statistics, 2);
}

}  // namespace
}  // namespace kasimir
