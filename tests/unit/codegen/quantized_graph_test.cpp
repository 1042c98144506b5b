// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/files.h"
#include "kasimir/codegen/int8_speed.h"
#include "kasimir/codegen/network_c.h"
#include "kasimir/codegen/work.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"
#include "support/text.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

/// conv1 - norm - relu - conv2 - mean - scores, on images of 8 x 8.
Network chain() {
  NetworkBuilder net("chain", {3, 8, 8});
  int x = net.add("conv1", layer::Conv{.out = 16, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}, {0});
  x = net.add("norm1", layer::BatchNorm{}, {x});
  x = net.add("relu1", layer::Activation{}, {x});
  x = net.add("conv2", layer::Conv{.out = 20, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}, {x});
  x = net.add("mean", layer::GlobalAvgPool{}, {x});
  net.add("scores", layer::Linear{.out = 4}, {x});
  return std::move(net).finish();
}

Quantization quantization_of(const Network& network, int weight_bits = 8) {
  const NetworkPlan plan{&network, {}};
  return quantization_for_speed(plan, random_weights(plan, 1), weight_bits, 8, 0.02F);
}

NetworkC as_c(const Network& network, const Quantization& quantization) {
  const NetworkPlan plan{&network, {}};
  return network_as_c(plan, 2, random_weights(plan, 1), {}, false, quantization).value();
}

std::string refusal(const Quantization& quantization) {
  const Network network = chain();
  try {
    as_c(network, quantization);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input);
    return error.what();
  }
  return "no error";
}

TEST(QuantizedGraph, CodesAreTheNearestWithTiesToEvenAndClamped) {
  const auto code_of = [](float value, float step, const IntegerFormat& format) {
    const Quantization quantization{{"w", {.weight = format, .weight_steps = {step}}}};
    return quantized_tensors({{"w", {1}, true, {value}}}, quantization).front().values.front();
  };
  const IntegerFormat wide{4, true, false};
  EXPECT_EQ(code_of(0.25F, 0.1F, wide), 2);
  EXPECT_EQ(code_of(0.5F, 1, wide), 0);
  EXPECT_EQ(code_of(1.5F, 1, wide), 2);
  EXPECT_EQ(code_of(-2.5F, 1, wide), -2);
  EXPECT_EQ(code_of(100, 1, wide), 7);
  EXPECT_EQ(code_of(-100, 1, wide), -8);
  EXPECT_EQ(code_of(-100, 1, {4, true, true}), -7);
  EXPECT_EQ(code_of(-100, 1, {4, false, false}), 0);
}

TEST(QuantizedGraph, PacksCodesFromTheLowestBits) {
  EXPECT_EQ(pack_codes({-1, 1, 0, -2}, 2), std::string("\x87"));
  EXPECT_EQ(pack_codes({-1, 3, 1}, 3), std::string("\x5f\x00", 2));
  EXPECT_EQ(pack_codes({-128, 127}, 8), std::string("\x80\x7f"));
  EXPECT_THROW(pack_codes({4}, 3), Error);
  EXPECT_THROW(pack_codes({0.5F}, 3), Error);
}

TEST(QuantizedGraph, RefusesWhatDoesNotFitTheNetwork) {
  const Network network = chain();
  const Quantization good = quantization_of(network);
  Quantization bad = good;
  bad.emplace("conv3.weight", good.at("conv2.weight"));
  EXPECT_EQ(refusal(bad),
            "no weighted sum has a weight `conv3.weight`, did you mean `conv1.weight`, `conv2.weight` or "
            "`scores.weight`?");
  bad = good;
  bad.at("conv2.weight").weight.bits = 9;
  EXPECT_EQ(refusal(bad), "weights of `conv2.weight`: 9 bits, needed are 2 to 8 or 16");
  bad = good;
  bad.at("conv2.weight").activation.bits = 1;
  EXPECT_EQ(refusal(bad), "activations of `conv2.weight`: 1 bits, needed are 2 to 8 or 16");
  bad = good;
  bad.at("conv2.weight").activation_step = 0;
  EXPECT_EQ(refusal(bad), "the step of the activations of `conv2.weight` is 0, needed is a positive number");
  bad = good;
  bad.at("conv2.weight").weight_steps[3] = -1;
  EXPECT_EQ(refusal(bad), "a step of `conv2.weight` is -1, needed are positive numbers");
  bad = good;
  bad.at("conv2.weight").weight_steps.pop_back();
  EXPECT_EQ(refusal(bad), "`conv2.weight` has 19 steps, needed are 20");
  bad = good;
  bad.at("conv2.weight").channel_axes = 5;
  EXPECT_EQ(refusal(bad), "`conv2.weight` has 4 axes, and steps along 5");
  EXPECT_EQ(testing::thrown_by([&] { return quantized_tensors({}, {*good.begin()}); }),
            "2: the weights lack tensor `conv1.weight`");
  EXPECT_EQ(testing::thrown_by([&] {
              return quantized_tensors({{"conv1.weight", {9}, true, std::vector<float>(9)}}, {*good.begin()});
            }),
            "2: tensor `conv1.weight` has 9 values, which 16 steps cannot share");
  EXPECT_EQ(testing::thrown_by([&] {
              return quantized_tensors({{"conv1.weight", {16}, true, std::vector<float>(16, NAN)}}, {*good.begin()});
            }),
            "2: tensor `conv1.weight`: 16 of 16 values are not finite, the first is nan at place 0");
}

TEST(QuantizedGraph, ActivationsBetweenPlacesAreBytes) {
  const Network network = chain();
  const NetworkC made = as_c(network, quantization_of(network));
  const NestProgram& program = made.made.program;
  // The image's codes, two convolutions, the mean, the scores.
  ASSERT_EQ(program.run.size(), 5U) << str(program);
  const MemoryPlan memory = plan_memory(program, {});
  const auto element = [&](std::size_t nest) {
    return memory.layouts[static_cast<std::size_t>(program.run[nest].out)].element;
  };
  EXPECT_TRUE(element(0).bytes);
  EXPECT_EQ(element(0).zero, 128);
  EXPECT_TRUE(element(1).bytes);
  EXPECT_EQ(element(1).zero, 0);
  EXPECT_FALSE(element(2).bytes);
  EXPECT_TRUE(element(3).bytes);
  // The clamp of the codes does what the relu did.
  EXPECT_EQ(str(program, program.run[1]).find("relu("), std::string::npos);
  // The ring of signed codes is not of bytes 0.
  ASSERT_EQ(memory.fills.size(), 1U);
  EXPECT_EQ(memory.fills[0].byte, 128);
}

TEST(QuantizedGraph, PlacesThatReadOneActivationAlikeShareItsCodes) {
  const Network network = zoo_network("resnet8");
  Quantization quantization = quantization_of(network);
  const auto codes = [&] {
    const NetworkC made = as_c(network, quantization);
    return std::ranges::count_if(made.made.program.codes, [&](const auto& of) {
      return !made.made.program.known[static_cast<std::size_t>(of.first)];
    });
  };
  const auto shared = codes();
  quantization.at("stage2.block1.shortcut.conv.weight").activation_step *= 2;
  EXPECT_EQ(codes(), shared + 1);
}

TEST(QuantizedGraph, CodesOfAValueThatOthersReadAreWrittenWithIt) {
  const Network network = zoo_network("resnet8");
  const NetworkC made = as_c(network, quantization_of(network));
  std::size_t also = 0;
  for (const Nest& nest : made.made.program.run) {
    also += nest.also.size();
    // No nest is left that only rounds, but for the image.
    if (made.made.program.codes.contains(nest.out) && nest.reduce == Reduce::none) {
      EXPECT_EQ(nest.name, "stem.conv.weight.codes");
    }
  }
  EXPECT_EQ(also, 1U) << str(made.made.program);
}

TEST(QuantizedGraph, GivesTensorsThatLiveTogetherMemoryOfTheirOwn) {
  const Network network = zoo_network("resnet20");
  const NestProgram program = as_c(network, quantization_of(network)).made.program;
  const MemoryPlan memory = plan_memory(program, {});
  std::vector<std::pair<int, int>> lives(program.tensors.size(), {-1, -1});
  lives[static_cast<std::size_t>(program.input)] = {0, 0};
  for (int i = 0; i < static_cast<int>(program.run.size()); ++i) {
    const Nest& nest = program.run[static_cast<std::size_t>(i)];
    for_each_read(nest, [&](const BoundRead& read) { lives[static_cast<std::size_t>(read.tensor)].second = i; });
    for_each_out(nest, [&](int tensor) { lives[static_cast<std::size_t>(tensor)] = {i, i}; });
  }
  std::size_t compared = 0;
  for (std::size_t a = 0; a < lives.size(); ++a)
    for (std::size_t b = a + 1; b < lives.size(); ++b) {
      if (memory.place[a] < 0 || memory.place[b] < 0) continue;
      if (lives[a].second < lives[b].first || lives[b].second < lives[a].first) continue;
      ++compared;
      EXPECT_TRUE(memory.place[a] + memory.layouts[a].floats() <= memory.place[b] ||
                  memory.place[b] + memory.layouts[b].floats() <= memory.place[a])
          << program.tensors[a].name << ", " << program.tensors[b].name;
    }
  EXPECT_GE(compared, 20U);
}

TEST(QuantizedGraph, WeightsOfFewBitsTakeFewBytes) {
  const Network network = chain();
  const NetworkC eight = as_c(network, quantization_of(network, 8));
  const NetworkC four = as_c(network, quantization_of(network, 4));
  const NetworkC floats = as_c(network, {});
  const auto slot = [](const NetworkC& made, const std::string& name) {
    return *std::ranges::find(made.made.c.weights, name, &WeightSlot::name);
  };
  constexpr std::int64_t values = 20 * 16 * 9;
  EXPECT_EQ(slot(floats, "conv2.weight").floats(), values);
  EXPECT_EQ(slot(eight, "conv2.weight").floats(), values / 4);
  EXPECT_EQ(slot(four, "conv2.weight").floats(), values / 8);
  EXPECT_EQ(four.weights.size(), static_cast<std::size_t>(four.made.c.weights_size));
  EXPECT_NE(four.made.c.header.find("conv2.weight [2880] in 4 bits each, the first in the lowest"), std::string::npos)
      << four.made.c.header;
}

TEST(QuantizedGraph, ProductsOfBytesAskForShortSumsWhereTheyCannotOverflow) {
  const Network network = chain();
  const NetworkC eight = as_c(network, quantization_of(network, 8));
  EXPECT_GT(testing::count_of(eight.made.c.source, "= sum4(s"), 0U);
  EXPECT_EQ(testing::count_of(eight.made.c.source, "= sum4_small(s"), 0U);
  // 2 * 255 * 63 is below 2^15.
  const NetworkC seven = as_c(network, quantization_of(network, 7));
  EXPECT_EQ(testing::count_of(seven.made.c.source, "= sum4(s"), 0U);
  EXPECT_GT(testing::count_of(seven.made.c.source, "= sum4_small(s"), 0U);
}

TEST(QuantizedGraph, SumsThatThirtyTwoBitsMayNotHoldStayInFloats) {
  NetworkBuilder net("wide", {1, 200, 200});
  net.add("scores", layer::Linear{.out = 4}, {0});
  const Network network = std::move(net).finish();
  const NetworkC made = as_c(network, quantization_of(network));
  EXPECT_EQ(testing::count_of(made.made.c.source, "= sum4(s"), 0U);
  EXPECT_GT(testing::count_of(made.made.c.source, "unpack_codes(P + "), 0U);
}

TEST(QuantizedGraph, ProgramsWithoutCodesHoldNothingOfThem) {
  const Network network = chain();
  const std::string source = as_c(network, {}).made.c.source;
  for (const char* word : {"codes", "sum4", "unsigned char"}) EXPECT_EQ(source.find(word), std::string::npos) << word;
}

TEST(QuantizedGraph, CountsProductsFourAtATime) {
  const Network network = chain();
  const auto products = [](const NetworkC& made) {
    const CTarget target{16, 32, true};
    const auto counts = count_nests(made.made.program, default_methods(made.made.program, target), target);
    double most = 0;
    for (const WorkCounts& nest : counts) most = std::max(most, nest[static_cast<std::size_t>(Work::products)]);
    return most;
  };
  // The second convolution has most: two images of 8 x 8 results, 20 channels in two vectors, 16 * 9 products each.
  EXPECT_DOUBLE_EQ(products(as_c(network, quantization_of(network))), 2 * 64 * 2 * 144 / 4);
}

TEST(QuantizedGraph, FindsThePlacesOfKernelsInANetwork) {
  const Network network = zoo_network("resnet8");
  for (const char* name :
       {"depthwise_separable", "grouped_shuffle", "involution", "self_attention", "squeeze_excite"}) {
    const Kernel kernel =
        parse_kernel(read_file(std::string(KASIMIR_SOURCE_DIR) + "/examples/kernels/" + name + ".txt"), catalog());
    const NetworkPlan plan = replace_with(network, find_sites(network), kernel);
    const auto weights = random_weights(plan, 1);
    const Quantization quantization = quantization_for_speed(plan, weights, 8, 8, 0.02F);
    const auto made = network_as_c(plan, 1, weights, {}, false, quantization);
    ASSERT_TRUE(made.ok()) << name << ": " << made.rejection().str();
    EXPECT_GT(quantization.size(), weighted_places({&network, {}}).size() / 2) << name;
    std::size_t packed = 0;
    for (const WeightSlot& slot : made->made.c.weights) packed += slot.bits == 8 ? 1 : 0;
    EXPECT_EQ(packed, quantization.size()) << name;
    EXPECT_GT(testing::count_of(made->made.c.source, "= sum4(s"), 0U) << name;
  }
}

TEST(Int8Speed, QuantisesWhatCannotBeNegativeWithoutASign) {
  const Network network = zoo_network("resnet8");
  const Quantization quantization = quantization_of(network, 4);
  EXPECT_TRUE(quantization.at("stem.conv.weight").activation.is_signed);
  EXPECT_FALSE(quantization.at("stage1.block1.conv1.weight").activation.is_signed);
  EXPECT_FALSE(quantization.at("stage2.block1.conv1.weight").activation.is_signed);
  EXPECT_FALSE(quantization.at("head.linear.weight").activation.is_signed);
  const NetworkPlan plan{&network, {}};
  const auto weights = random_weights(plan, 1);
  const auto& values = std::ranges::find(weights, "head.linear.weight", &NamedTensor::name)->values;
  float most = 0;
  for (std::size_t i = 0; i < 64; ++i) most = std::max(most, std::abs(values[i]));
  EXPECT_FLOAT_EQ(quantization.at("head.linear.weight").weight_steps[0], most / 7);
}

TEST(Int8Speed, ComparesBeforeItMeasures) {
  const Network network = chain();
  const NetworkPlan plan{&network, {}};
  const auto speed =
      measure_int8(plan, random_weights(plan, 1), quantization_of(network), {.batch = 2, .seconds = 0, .native = {}});
  ASSERT_TRUE(speed.ok()) << speed.rejection().str();
  EXPECT_LE(speed->difference, 0.01);
  EXPECT_EQ(speed->rounds, 3);
  EXPECT_GT(speed->int8_ms, 0);
  EXPECT_LE(speed->over_direct.low, speed->over_direct.median);
  EXPECT_LE(speed->over_direct.median, speed->over_direct.high);
}

}  // namespace
}  // namespace kasimir
