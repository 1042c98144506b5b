// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/layer.h"

#include "unit/network/message.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

TEST(Layer, PrintsWhatItDoes) {
  EXPECT_EQ(op_text(layer::Input{}), "input");
  EXPECT_EQ(op_text(layer::Conv{.in = 16, .out = 32}), "conv 1x1 16->32");
  EXPECT_EQ(op_text(layer::Conv{.in = 16,
                                .out = 32,
                                .kernel_h = 3,
                                .kernel_w = 3,
                                .stride = 2,
                                .pad_h = 2,
                                .pad_w = 2,
                                .dilation = 2,
                                .groups = 4,
                                .bias = true}),
            "conv 3x3 /2 16->32 pad 2 dilation 2 groups 4 bias");
  EXPECT_EQ(op_text(layer::Conv{.in = 8, .out = 8, .kernel_w = 7, .pad_w = 3}), "conv 1x7 8->8 pad 0x3");
  EXPECT_EQ(op_text(layer::BatchNorm{8}), "batchnorm");
  EXPECT_EQ(op_text(layer::Activation{layer::ActivationKind::relu}), "relu");
  EXPECT_EQ(op_text(layer::Activation{layer::ActivationKind::relu6}), "relu6");
  EXPECT_EQ(op_text(layer::Activation{layer::ActivationKind::hardswish}), "hardswish");
  using enum layer::ActivationKind;
  for (const auto& [kind, word] : {std::pair(sigmoid, "sigmoid"), std::pair(tanh, "tanh"), std::pair(silu, "silu"),
                                   std::pair(gelu, "gelu"), std::pair(hardsigmoid, "hardsigmoid")})
    EXPECT_EQ(op_text(layer::Activation{kind}), word);
  EXPECT_EQ(op_text(layer::Mul{}), "mul");
  EXPECT_EQ(op_text(layer::Slice{2, 5}), "channels 2..6");
  EXPECT_EQ(op_text(layer::Shuffle{3}), "shuffle 3 groups");
  EXPECT_EQ(op_text(layer::Pad{1, 2, 3, 4}), "pad top 1 left 2 bottom 3 right 4");
  EXPECT_EQ(op_text(layer::ChannelNorm{8}), "channelnorm");
  EXPECT_EQ(op_text(layer::Rows{2, 3}), "rows 2..4");
  EXPECT_EQ(op_text(layer::Sequence{}), "sequence");
  EXPECT_EQ(op_text(layer::LearnedMap{}), "learned map");
  EXPECT_EQ(op_text(layer::Attention{.heads = 3, .channels = 12}), "attention 3 heads of 4");
  EXPECT_EQ(op_text(layer::Add{}), "add");
  EXPECT_EQ(op_text(layer::Concat{}), "concat");
  EXPECT_EQ(op_text(layer::MaxPool{.kernel = 3, .stride = 2, .padding = 1, .ceil = true}), "maxpool 3x3 /2 pad 1 ceil");
  EXPECT_EQ(op_text(layer::AvgPool{}), "avgpool 2x2 /2");
  EXPECT_EQ(op_text(layer::GlobalAvgPool{}), "global avgpool");
  EXPECT_EQ(op_text(layer::Dropout{0.25}), "dropout 0.25");
  EXPECT_EQ(op_text(layer::Linear{.in = 64, .out = 10}), "linear 64->10 bias");
  EXPECT_EQ(op_text(layer::Linear{.in = 64, .out = 10, .bias = false}), "linear 64->10");
}

TEST(Layer, CountsTheMacsAndParametersOfAConvolution) {
  const Layer dense{"c", layer::Conv{.in = 16, .out = 32, .kernel_h = 3, .kernel_w = 5}, {0}, {32, 10, 20}};
  EXPECT_EQ(dense.cost(), (LayerCost{16LL * 32 * 15 * 200, 16LL * 32 * 15}));
  const Layer grouped{"c",
                      layer::Conv{.in = 16, .out = 32, .kernel_h = 3, .kernel_w = 3, .groups = 4, .bias = true},
                      {0},
                      {32, 10, 20}};
  EXPECT_EQ(grouped.cost(), (LayerCost{4LL * 32 * 9 * 200, 4LL * 32 * 9 + 32}));
  const Layer depthwise{
      "c", layer::Conv{.in = 16, .out = 16, .kernel_h = 3, .kernel_w = 3, .groups = 16}, {0}, {16, 10, 20}};
  EXPECT_EQ(depthwise.cost(), (LayerCost{16LL * 9 * 200, 16LL * 9}));
}

TEST(Layer, CountsNoMacsForNormalisationAndSums) {
  EXPECT_EQ((Layer{"b", layer::BatchNorm{16}, {0}, {16, 8, 8}}.cost()), (LayerCost{0, 32}));
  EXPECT_EQ((Layer{"n", layer::ChannelNorm{16}, {0}, {16, 8, 8}}.cost()), (LayerCost{0, 32}));
  EXPECT_EQ((Layer{"m", layer::Mul{}, {0, 1}, {16, 8, 8}}.cost()), (LayerCost{0, 0}));
  EXPECT_EQ((Layer{"l", layer::Linear{.in = 64, .out = 10}, {0}, {10, 1, 1}}.cost()), (LayerCost{640, 650}));
  EXPECT_EQ((Layer{"a", layer::Add{}, {0, 1}, {16, 8, 8}}.cost()), (LayerCost{0, 0}));
}

TEST(Layer, CountsBothProductsOfAttentionAndLearnedMaps) {
  const layer::Attention attention{.heads = 2, .channels = 16, .places = 50};
  EXPECT_EQ((Layer{"a", attention, {0, 1, 2}, {24, 7, 5}}.cost()), (LayerCost{(16 + 24) * 50 * 35, 0}));
  EXPECT_EQ((Layer{"m", layer::LearnedMap{}, {0}, {16, 50, 1}}.cost()), (LayerCost{0, 800}));
  EXPECT_EQ((Layer{"s", layer::Sequence{}, {0}, {16, 50, 1}}.cost()), (LayerCost{0, 0}));
}

TEST(Layer, RefusesACostBeyond64Bits) {
  const Layer huge{"deep.conv",
                   layer::Conv{.in = 65536, .out = 65536, .kernel_h = 255, .kernel_w = 255},
                   {0},
                   {65536, 65536, 65536}};
  EXPECT_EQ(message_of([&] { (void)huge.cost(); }),
            "layer `deep.conv` is too large: its cost does not fit into 64 bits");
  LayerCost half{std::int64_t{1} << 62, 0};
  EXPECT_EQ(message_of([&] { half += half; }), "the network is too large: its cost does not fit into 64 bits");
}

}  // namespace
}  // namespace kasimir
