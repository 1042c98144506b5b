// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/integer_network.h"

#include "message.h"

#include "kasimir/network/fake_quantized_network.h"
#include "kasimir/network/zoo.h"
#include "support/quantization.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kasimir {
namespace {

/// One pixel, one 1x1 convolution of two channels, batch norm, classes.
Network tiny(bool norm) {
  NetworkBuilder net("tiny", {1, 1, 1});
  int x = net.add("conv", layer::Conv{.out = 2}, {0});
  if (norm) x = net.add("bn", layer::BatchNorm{}, {x});
  net.add("fc", layer::Linear{.out = 2, .bias = true}, {x});
  return std::move(net).finish();
}

NamedTensor tensor(std::string name, std::vector<float> values) {
  return {std::move(name), {static_cast<std::int64_t>(values.size())}, true, std::move(values)};
}

std::vector<NamedTensor> tiny_weights() {
  return {tensor("conv.weight", {0.5F, -1.0F}),  tensor("bn.weight", {2, 1}),
          tensor("bn.bias", {0.25F, 0}),         tensor("bn.running_mean", {0.5F, 0}),
          tensor("bn.running_var", {0.25F, 1}),  tensor("fc.weight", {1, 0, 0.5F, 1}),
          tensor("fc.bias", {0.125F, -1.0F / 3})};
}

Quantization tiny_quantization() {
  const IntegerFormat signed8{8, true, true};
  return {{"conv.weight", {signed8, signed8, {0.5F, 0.25F}, 1, 0.5F}},
          {"fc.weight", {signed8, signed8, {0.5F}, 0, 0.25F}}};
}

TEST(IntegerNetwork, ComputesWhatIsWorkedOutByHand) {
  // Pixel 1.3: code round(2.6) = 3. Weights: 0.5 / 0.5 = 1 and -1 / 0.25 = -4. Sums 3 and -12 in steps of 1/4 and 1/8:
  // 0.75 and -1.5. Codes of the second layer, steps of 1/4: 3 and -6. Its weights, steps of 1/2: 2 0 1 2. Sums 6 and
  // -9 in steps of 1/8: 0.75 and -1.125. Biases: 1/8 and -1/3 as 20 bits, on the grid of 2^-16: -21845.
  const Network network = tiny(false);
  const IntegerNetwork integers({&network, {}}, tiny_weights(), tiny_quantization());
  EXPECT_EQ(integers.scores(std::vector<float>{1.3F}),
            (std::vector<std::int64_t>{(75 + 12) * 65536 / 100 + 328, -73728 - 21845}));
  EXPECT_EQ(integers.macs(), 6);
}

TEST(IntegerNetwork, FoldsTheBatchNormThatFollowsAConvolution) {
  // As above: 0.75 and -1.5 before the norm. Its factors are 2 / sqrt(0.25 + 1e-5) and 1 / sqrt(1 + 1e-5), its offsets
  // 0.25 - 0.5 * factor and 0: 1.25 - 2e-5 and -1.5 + 7.5e-6, codes 5 and -6. Sums 10 and 5 - 12 = -7 in steps of 1/8.
  const Network network = tiny(true);
  const NetworkPlan plan{&network, {}};
  EXPECT_EQ(folded_norms(plan), (std::map<std::string, int>{{"conv.weight", 2}}));
  const IntegerNetwork integers(plan, tiny_weights(), tiny_quantization());
  EXPECT_EQ(integers.scores(std::vector<float>{1.3F}), (std::vector<std::int64_t>{(10 + 1) * 8192, -7 * 8192 - 21845}));
}

TEST(FoldedNorms, AreNotThoseOfConvolutionsThatOthersReadOrThatHaveABias) {
  NetworkBuilder net("shared", {2, 4, 4});
  const int read_twice = net.add("a", layer::Conv{.out = 2}, {0});
  const int x = net.add("a.bn", layer::BatchNorm{}, {read_twice});
  const int sum = net.add("sum", layer::Add{}, {x, read_twice});
  layer::Conv biased{.out = 2};
  biased.bias = true;
  const int b = net.add("b.bn", layer::BatchNorm{}, {net.add("b", biased, {sum})});
  const int c = net.add("c.bn", layer::BatchNorm{}, {net.add("c", layer::Conv{.out = 2}, {b})});
  net.add("fc", layer::Linear{.out = 2}, {c});
  const Network network = std::move(net).finish();
  EXPECT_EQ(folded_norms({&network, {}}), (std::map<std::string, int>{{"c.weight", *network.find("c.bn")}}));
}

TEST(IntegerNetwork, NeedsAnEntryForEveryWeightedSum) {
  const Network network = tiny(false);
  const auto message = [&](const Quantization& quantization, std::vector<NamedTensor> weights = tiny_weights()) {
    return message_of([&] { IntegerNetwork({&network, {}}, weights, quantization); });
  };
  Quantization odd = tiny_quantization();
  odd.erase("fc.weight");
  EXPECT_EQ(message(odd), "the quantization of network `tiny` lacks `fc.weight`");
  odd = tiny_quantization();
  odd["conf.weight"] = odd["conv.weight"];
  EXPECT_EQ(
      message(odd),
      "the quantization has `conf.weight`, which is no weighted sum of network `tiny`, did you mean `conv.weight`?");
  odd = tiny_quantization();
  odd["conv.weight"].weight.bits = 9;
  EXPECT_EQ(message(odd), "quantization of `conv.weight`: 9 bits, needed are 2 to 8 or 16");
  odd = tiny_quantization();
  odd["conv.weight"].weight_steps = {1};
  EXPECT_EQ(message(odd), "quantization of `conv.weight`: 1 weight steps, needed are 2");
  odd = tiny_quantization();
  odd["conv.weight"].channel_axes = 2;
  EXPECT_EQ(message(odd), "quantization of `conv.weight`: steps along 2 axes, 1 of the weight are not summed over");
  odd = tiny_quantization();
  odd["fc.weight"].activation_step = 0;
  EXPECT_EQ(message(odd), "quantization of `fc.weight`: a step of 0, needed is a finite one above 0");
  odd["fc.weight"].activation_step = 1;
  odd["fc.weight"].weight_steps = {std::numeric_limits<float>::infinity()};
  EXPECT_EQ(message(odd), "quantization of `fc.weight`: a step of inf, needed is a finite one above 0");
}

TEST(IntegerNetwork, RefusesNumbersThatAreNone) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  auto weights = tiny_weights();
  weights[0].values[1] = nan;
  const Network network = tiny(true);
  const NetworkPlan plan{&network, {}};
  EXPECT_EQ(message_of([&] { IntegerNetwork(plan, weights, tiny_quantization()); }),
            "tensor `conv.weight`: 1 of 2 values are not finite");
  weights = tiny_weights();
  weights[4].values[1] = -1;
  EXPECT_EQ(message_of([&] { IntegerNetwork(plan, weights, tiny_quantization()); }),
            "tensor `bn.running_var`: -1 is below zero");
  const IntegerNetwork integers(plan, tiny_weights(), tiny_quantization());
  EXPECT_EQ(message_of([&] { static_cast<void>(integers.scores(std::vector<float>{nan})); }),
            "an image for network `tiny` with what is not a number");
  EXPECT_EQ(message_of([&] { static_cast<void>(integers.scores(std::vector<float>{1, 2})); }),
            "an image of 2 numbers for network `tiny`, needed are 1");
}

TEST(IntegerNetwork, RefusesStoredNumbersThatGiveNone) {
  // A batch norm that is not folded: its convolution has a bias.
  NetworkBuilder net("odd", {1, 1, 1});
  layer::Conv biased{.out = 2};
  biased.bias = true;
  net.add("bn", layer::BatchNorm{}, {net.add("conv", biased, {0})});
  const Network network = std::move(net).finish();
  auto weights = tiny_weights();
  weights[4].values[1] = -1;
  weights.push_back(tensor("conv.bias", {0, 0}));
  Quantization quantization = tiny_quantization();
  quantization.erase("fc.weight");
  // The sign of what is not a number depends on the machine.
  EXPECT_THAT(message_of([&] { IntegerNetwork({&network, {}}, weights, quantization); }),
              ::testing::AnyOf("the stored numbers of `bn.6` give nan", "the stored numbers of `bn.6` give -nan"));
}

TEST(IntegerNetwork, TakesInfinitePixelsAsTheEndsOfTheGrid) {
  const Network network = tiny(false);
  const IntegerNetwork integers({&network, {}}, tiny_weights(), tiny_quantization());
  EXPECT_EQ(integers.scores(std::vector<float>{std::numeric_limits<float>::infinity()}),
            integers.scores(std::vector<float>{30000}));
}

TEST(IntegerNetwork, RefusesANetworkThatStagesCannotCompute) {
  NetworkBuilder net("odd", {3, 8, 8});
  const int conv = net.add("conv", layer::Conv{.out = 4}, {0});
  const int pool = net.add("pool", layer::MaxPool{.kernel = 3, .stride = 2, .padding = 1}, {conv});
  net.add("fc", layer::Linear{.out = 2}, {pool});
  const Network network = std::move(net).finish();
  const NetworkPlan plan{&network, {}};
  Rng rng(1);
  const auto weights = random_weights(plan, 1);
  const auto quantization = testing::random_quantization(plan, weights, rng);
  EXPECT_EQ(
      message_of([&] { IntegerNetwork(plan, weights, quantization); }),
      "network `odd` in integers: a maximum that reads outside the image has an input that is not negative (layer "
      "`pool` (maxpool 3x3 /2 pad 1) of network `odd`)");
}

TEST(FakeQuantizedNetwork, EqualsTheIntegersOnASmallNetwork) {
  const Network network = tiny(true);
  const NetworkPlan plan{&network, {}};
  const IntegerNetwork integers(plan, tiny_weights(), tiny_quantization());
  const FakeQuantizedNetwork doubles(plan, tiny_weights(), tiny_quantization());
  for (int i = -40; i <= 40; ++i) {
    const std::vector<float> image{0.17F * static_cast<float>(i)};
    const auto exact = integers.scores(image);
    const auto fake = doubles.scores(image);
    for (std::size_t k = 0; k < 2; ++k) EXPECT_EQ(static_cast<double>(exact[k]) * 0x1p-16, fake[k]) << image[0];
  }
}

}  // namespace
}  // namespace kasimir
