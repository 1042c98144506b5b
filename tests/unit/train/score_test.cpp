// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/score.h"

#include "fashion.h"
#include "support/thrown.h"

#include "kasimir/base/rng.h"

#include <gmock/gmock.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using kasimir::testing::thrown_by;

/// Random images of classes 0, 1, 0, ..
ImageSet noise(int channels, int size, std::size_t count, std::uint64_t seed) {
  ImageSet set{channels, size, size, {}, {}};
  Rng rng(seed);
  set.pixels.resize(count * set.image_bytes());
  for (std::uint8_t& pixel : set.pixels) pixel = static_cast<std::uint8_t>(rng.below(256));
  for (std::size_t i = 0; i < count; ++i) set.labels.push_back(static_cast<std::int32_t>(i % 2));
  return set;
}

/// Two images of one pixel, which normalisation brings to -1 and 1.
ImageSet black_and_white() { return {1, 1, 1, {0, 255}, {0, 1}}; }

/// Two convolutions without a way around the second one, which kernels replace.
Network plain_network() {
  NetworkBuilder build("plain", {4, 8, 8});
  int at = 0;
  for (const char* name : {"a", "b"}) {
    at = build.add(name, layer::Conv{0, 8, 3, 3, 1, 1, 1, 1, 1, false}, {at});
    at = build.add(std::string(name) + ".norm", layer::BatchNorm{}, {at});
    at = build.add(std::string(name) + ".relu", layer::Activation{}, {at});
  }
  build.add("fc", layer::Linear{0, 2, true}, {build.add("pool", layer::GlobalAvgPool{}, {at})});
  return std::move(build).finish();
}

Outcome<double> value_of(const char* name, const Network& network, const ImageSet& images,
                         const std::vector<std::pair<const char*, std::vector<float>>>& weights = {}) {
  const NetworkPlan plan{&network, {}};
  Model model(plan);
  for (const auto& [tensor, values] : weights) model.set_tensor(tensor, values);
  return score_of(score_named(name), plan, model, images, 1);
}

constexpr std::array kernels = {
    convolution_text, grouped_text,
    std::string_view("kernel normed\n  a = conv(x, to=Co, stride=yes)\n  b = norm(a)\n  c = hardswish(b)\nreturn c\n"),
    std::string_view("kernel shifted\n  a = shift(x, axes=h, by=1)\n  b = stride(a)\n  c = linear(b, to=Co)\nreturn c\n"),
    std::string_view("kernel large\n  a = conv(x, to=Co, stride=yes)\n  b = exp(a)\n  c = exp(b)\nreturn c\n")};

class EveryScore : public ::testing::TestWithParam<std::string> {
 protected:
  ScoreResult run(const NetworkPlan& plan, const ImageSet& images, const ScoreOptions& options = {}) {
    return zero_cost_scores(plan, images, {GetParam()}, options).front();
  }
};
INSTANTIATE_TEST_SUITE_P(Catalog, EveryScore, ::testing::ValuesIn([] {
                           std::vector<std::string> names;
                           for (const ZeroCostScore& score : score_catalog()) names.emplace_back(score.name);
                           return names;
                         }()),
                         [](const auto& of) { return of.param; });

TEST_P(EveryScore, IsAFiniteNumberOrHasAReasonAndTheSameEachTime) {
  const Network network = small_network(0.5);
  const ImageSet images = noise(1, 28, 16, 3);
  int values = 0;
  for (const std::string_view kernel : kernels) {
    const NetworkPlan plan = plan_with(network, kernel);
    const ScoreResult result = run(plan, images, {.seed = 5});
    EXPECT_EQ(result.name, GetParam());
    ASSERT_NE(result.value.has_value(), result.rejected.has_value()) << kernel;
    EXPECT_GT(result.seconds, 0);
    const ScoreResult again = run(plan, images, {.seed = 5});
    EXPECT_EQ(again.value, result.value) << kernel;
    EXPECT_EQ(again.rejected, result.rejected) << kernel;
    if (!result.value) {
      EXPECT_THAT(result.rejected->rule, ::testing::StartsWith("score: "));
      continue;
    }
    ++values;
    EXPECT_TRUE(std::isfinite(*result.value)) << kernel;
    EXPECT_NE(run(plan, images, {.seed = 6}).value, result.value) << kernel;
  }
  EXPECT_GE(values, 4);
}

TEST_P(EveryScore, DependsOnTheImagesWhereItSaysSo) {
  const Network network = plain_network();
  const ScoreResult one = run({&network, {}}, noise(4, 8, 16, 3));
  const ScoreResult other = run({&network, {}}, noise(4, 8, 16, 4));
  ASSERT_TRUE(one.value && other.value);
  EXPECT_EQ(*one.value != *other.value, score_named(GetParam()).reads_images);
}

TEST_P(EveryScore, RefusesANetworkWhoseOutputIgnoresItsImage) {
  const Network network = plain_network();
  // Rectified, negated and rectified again: dead everywhere.
  const NetworkPlan plan = plan_with(network,
                                     "kernel dead\n  a = conv(x, to=Co, stride=yes)\n  b = relu(a)\n  c = neg(b)\n"
                                     "  d = relu(c)\nreturn d\n");
  ASSERT_EQ(plan.replaced.size(), 1U);
  const ScoreResult result = run(plan, noise(4, 8, 16, 3));
  ASSERT_TRUE(result.rejected);
  EXPECT_EQ(result.rejected->rule, "score: the output depends on the image");
}

TEST_P(EveryScore, RefusesWhatTakesTooMuchMemory) {
  const Network network = small_network();
  const ScoreResult result = run({&network, {}}, noise(1, 28, 32, 3), {.seed = 1, .memory_limit = 100'000});
  ASSERT_TRUE(result.rejected);
  EXPECT_EQ(result.rejected->rule, "score: memory");
  EXPECT_THAT(result.rejected->with, ::testing::MatchesRegex("[0-9.]+[kM]?B of tensors, .* allowed"));
}

TEST_P(EveryScore, SkipsDropout) {
  NetworkBuilder build("dropping", {1, 4, 4});
  int at = build.add("conv", layer::Conv{0, 4, 3, 3, 1, 1, 1, 1, 1, false}, {0});
  at = build.add("drop", layer::Dropout{0.5}, {build.add("relu", layer::Activation{}, {at})});
  build.add("fc", layer::Linear{0, 2, true}, {at});
  const Network network = std::move(build).finish();
  const ImageSet images = noise(1, 4, 8, 3);
  const ScoreResult result = run({&network, {}}, images);
  ASSERT_TRUE(result.value);
  EXPECT_EQ(run({&network, {}}, images).value, result.value);
}

TEST_P(EveryScore, NamesItsSource) { EXPECT_THAT(score_named(GetParam()).source, ::testing::HasSubstr("arXiv ")); }

TEST(GradNorm, IsThatOfSoftmaxRegressionByHand) {
  NetworkBuilder build("regression", {1, 1, 1});
  build.add("fc", layer::Linear{0, 2, true}, {0});
  const Network network = std::move(build).finish();
  // Both images x = -1, 1 have the scores (x / 2, -x / 2) and the label of the lower one: the error is sigmoid(1).
  const auto value =
      value_of("grad_norm", network, black_and_white(), {{"fc.weight", {0.5, -0.5}}, {"fc.bias", {0, 0}}});
  EXPECT_NEAR(*value, std::sqrt(2.0) / (1 + std::exp(-1.0)), 1e-6);
}

/// One convolution of one pixel, then a classifier.
Network two_products(std::int64_t channels, bool bias, bool rectified) {
  NetworkBuilder build("products", {1, 1, 1});
  int at = build.add("conv", layer::Conv{0, channels, 1, 1, 1, 0, 0, 1, 1, bias}, {0});
  if (rectified) at = build.add("relu", layer::Activation{}, {at});
  build.add("fc", layer::Linear{0, 2, true}, {at});
  return std::move(build).finish();
}

TEST(Synflow, IsTheFlowOfTwoProductsByHand) {
  // From an image of 1: |2| and |-3|, then 1 * 2 + 1 * 3 and 0.5 * 2 + 2 * 3, together 12, once for each of two layers.
  const auto value = value_of("synflow", two_products(2, false, true), black_and_white(),
                              {{"conv.weight", {2, -3}}, {"fc.weight", {1, -1, 0.5, 2}}, {"fc.bias", {100, 200}}});
  EXPECT_NEAR(*value, std::log(24.0), 1e-9);
}

TEST(Synflow, DoesNotChangeWhenAUnitIsScaledUpBeforeAndDownAfter) {
  const Network network = two_products(2, false, true);
  const auto value =
      value_of("synflow", network, black_and_white(), {{"conv.weight", {2, -3}}, {"fc.weight", {1, -1, 0.5, 2}}});
  const auto scaled =
      value_of("synflow", network, black_and_white(), {{"conv.weight", {8, -3}}, {"fc.weight", {0.25, -1, 0.125, 2}}});
  EXPECT_NEAR(*value, *scaled, 1e-12);
}

TEST(Synflow, ReachesBeyondTheRangeOfSinglePrecision) {
  NetworkBuilder build("deep", {16, 4, 4});
  int at = 0;
  for (int i = 0; i < 40; ++i)
    at = build.add(fmt::format("conv{}", i), layer::Conv{0, 16, 3, 3, 1, 1, 1, 1, 1, false}, {at});
  build.add("fc", layer::Linear{0, 2, true}, {at});
  const Network network = std::move(build).finish();
  const auto value = value_of("synflow", network, noise(16, 4, 2, 1));
  ASSERT_TRUE(value.ok()) << value.rejection().str();
  EXPECT_GT(*value, std::log(1e40));
}

TEST(Naswot, IsTheDeterminantOfTwoPatternsByHand) {
  // Units x, x + 2 and x - 2 of x = -1, 1: off on off, on on off. Two of three agree: 3 * 3 - 2 * 2.
  const auto value = value_of("naswot", two_products(3, true, true), black_and_white(),
                              {{"conv.weight", {1, 1, 1}}, {"conv.bias", {0, 2, -2}}});
  EXPECT_NEAR(*value, std::log(5.0), 1e-12);
}

TEST(Naswot, RefusesTwoImagesOfOnePattern) {
  const auto value = value_of("naswot", two_products(3, true, true), black_and_white(),
                              {{"conv.weight", {1, 1, 1}}, {"conv.bias", {2, 2, -2}}});
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.rejection().str(),
            "score: every image has a pattern of its own (the patterns of 2 images are not independent)");
}

TEST(Naswot, RefusesANetworkWithoutActivations) {
  const auto value = value_of("naswot", two_products(3, true, false), black_and_white());
  ASSERT_FALSE(value.ok());
  EXPECT_EQ(value.rejection().str(), "score: the network has activations (it has none)");
}

TEST(Naswot, DoesNotChangeWithTheScaleOfWeightsOrTheOrderOfImages) {
  const Network network = plain_network();
  const ImageSet images = noise(4, 8, 16, 3);
  const NetworkPlan plan{&network, {}};
  const auto score = [&](float scale, const ImageSet& of) {
    Model model(plan);
    for (NamedTensor tensor : model.tensors()) {
      if (tensor.name != "a.weight" && tensor.name != "b.weight") continue;
      for (float& value : tensor.values) value *= scale;
      model.set_tensor(tensor.name, tensor.values);
    }
    return *score_of(score_named("naswot"), plan, model, of, 1);
  };
  const double value = score(1, images);
  EXPECT_NEAR(score(4, images), value, 1e-9);
  std::vector<std::int32_t> order = first(16);
  std::ranges::reverse(order);
  EXPECT_NEAR(score(1, select_images(images, order)), value, 1e-6);
}

/// One convolution of 1 x 1 from one channel to 64, with a norm or without.
Network one_convolution(bool normed) {
  NetworkBuilder build("one", {1, 8, 8});
  int at = build.add("conv", layer::Conv{0, 64, 1, 1, 1, 0, 0, 1, 1, false}, {0});
  if (normed) at = build.add("norm", layer::BatchNorm{}, {at});
  build.add("fc", layer::Linear{0, 2, true}, {build.add("pool", layer::GlobalAvgPool{}, {at})});
  return std::move(build).finish();
}

TEST(Zen, IsThatOfOneConvolutionByHand) {
  // Features move by |w| |e| / 100, both of 64 normal numbers, whose length has this mean.
  const double length = std::sqrt(2.0) * std::exp(std::lgamma(32.5) - std::lgamma(32.0));
  // Over 8 drawings of weights, each within 9 % of the mean: three deviations are 0.1.
  EXPECT_NEAR(*value_of("zen", one_convolution(false), noise(1, 8, 2, 1)), std::log(length * length / 100), 0.1);
}

TEST(Zen, PutsBackTheScaleThatNormsTakeAway) {
  const ImageSet images = noise(1, 8, 2, 1);
  EXPECT_NEAR(*value_of("zen", one_convolution(true), images), *value_of("zen", one_convolution(false), images), 1e-3);
}

TEST(Zen, LeavesResidualLinksOut) {
  const auto network = [](bool linked) {
    NetworkBuilder build("residual", {8, 8, 8});
    const int first = build.add("first", layer::Conv{0, 8, 3, 3, 1, 1, 1, 1, 1, false}, {0});
    const int second = build.add("second", layer::Conv{0, 8, 3, 3, 1, 1, 1, 1, 1, false}, {first});
    const int last = linked ? build.add("sum", layer::Add{}, {second, first}) : second;
    build.add("fc", layer::Linear{0, 2, true}, {build.add("pool", layer::GlobalAvgPool{}, {last})});
    return std::move(build).finish();
  };
  const ImageSet images = noise(8, 8, 2, 1);
  EXPECT_EQ(*value_of("zen", network(true), images), *value_of("zen", network(false), images));
}

TEST(Zen, GrowsWithDepthAndWidth) {
  const auto score = [](std::int64_t width, int depth) {
    NetworkBuilder build("grown", {3, 8, 8});
    int at = 0;
    for (int i = 0; i < depth; ++i) {
      at = build.add(fmt::format("c{}", i), layer::Conv{0, width, 3, 3, 1, 1, 1, 1, 1, false}, {at});
      at = build.add(fmt::format("n{}", i), layer::BatchNorm{}, {at});
      at = build.add(fmt::format("r{}", i), layer::Activation{}, {at});
    }
    build.add("fc", layer::Linear{0, 2, true}, {build.add("pool", layer::GlobalAvgPool{}, {at})});
    const Network network = std::move(build).finish();
    return *value_of("zen", network, noise(3, 8, 2, 1));
  };
  EXPECT_GT(score(16, 2), score(4, 2) + 1);
  EXPECT_GT(score(16, 4), score(16, 2) + 1);
}

TEST(ScoreNames, SuggestWhatWasMeant) {
  EXPECT_EQ(thrown_by([] { return &score_named("synflo"); }), "2: unknown score `synflo`, did you mean `synflow`?");
}

TEST(ScoreImages, AreAtLeastTwo) {
  const Network network = plain_network();
  EXPECT_EQ(thrown_by([&] { return zero_cost_scores({&network, {}}, noise(4, 8, 1, 1), {"zen"}); }),
            "2: score: 1 images, at least 2 are needed");
}

}  // namespace
}  // namespace kasimir
