// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/network.h"

#include "unit/network/message.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

/// The shape that one layer on an image of 8x9x11 gives.
Shape3 shape_of(Op op) {
  NetworkBuilder net("net", {8, 9, 11});
  return net.shape(net.add("x", op, {0}));
}

/// The message with which one layer `x` on an image of 8x9x11 is refused, without the name of network and layer.
std::string refusal(Op op, std::vector<int> inputs = {0}) {
  NetworkBuilder net("net", {8, 9, 11});
  net.add("reduced", layer::AvgPool{}, {0});
  const std::string message = message_of([&] { net.add("x", op, std::move(inputs)); });
  const std::string where = "network `net`, layer `x`: ";
  return message.starts_with(where) ? message.substr(where.size()) : "no place in: " + message;
}

TEST(NetworkBuilder, InfersShapes) {
  const layer::Conv same{.out = 16, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1};
  EXPECT_EQ(shape_of(same), (Shape3{16, 9, 11}));
  layer::Conv strided = same;
  strided.stride = 2;
  EXPECT_EQ(shape_of(strided), (Shape3{16, 5, 6}));
  layer::Conv dilated = same;
  dilated.dilation = 3;
  EXPECT_EQ(shape_of(dilated), (Shape3{16, 5, 7}));
  EXPECT_EQ(shape_of(layer::Conv{.out = 4, .kernel_h = 5, .kernel_w = 1}), (Shape3{4, 5, 11}));
  EXPECT_EQ(shape_of(layer::BatchNorm{}), (Shape3{8, 9, 11}));
  EXPECT_EQ(shape_of(layer::Activation{}), (Shape3{8, 9, 11}));
  EXPECT_EQ(shape_of(layer::Dropout{0.1}), (Shape3{8, 9, 11}));
  EXPECT_EQ(shape_of(layer::MaxPool{}), (Shape3{8, 4, 5}));
  EXPECT_EQ(shape_of(layer::AvgPool{.kernel = 3, .stride = 3}), (Shape3{8, 3, 3}));
  EXPECT_EQ(shape_of(layer::GlobalAvgPool{}), (Shape3{8, 1, 1}));
  EXPECT_EQ(shape_of(layer::Linear{.out = 5}), (Shape3{5, 1, 1}));
  EXPECT_EQ(shape_of(layer::Slice{2, 5}), (Shape3{5, 9, 11}));
  EXPECT_EQ(shape_of(layer::Shuffle{4}), (Shape3{8, 9, 11}));
  EXPECT_EQ(shape_of(layer::Pad{1, 2, 3, 4}), (Shape3{8, 13, 17}));
  EXPECT_EQ(shape_of(layer::ChannelNorm{}), (Shape3{8, 9, 11}));
  EXPECT_EQ(shape_of(layer::Rows{2, 3}), (Shape3{8, 3, 11}));
  EXPECT_EQ(shape_of(layer::Sequence{}), (Shape3{8, 99, 1}));
  EXPECT_EQ(shape_of(layer::LearnedMap{}), (Shape3{8, 9, 11}));
}

TEST(NetworkBuilder, GivesAttentionThePlacesOfItsQueriesAndTheChannelsOfItsValues) {
  NetworkBuilder net("net", {8, 9, 11});
  const int fewer = net.add("fewer", layer::MaxPool{}, {0});
  const int values = net.add("values", layer::Conv{.out = 6}, {fewer});
  const int made = net.add("attention", layer::Attention{.heads = 2}, {0, fewer, values});
  EXPECT_EQ(net.shape(made), (Shape3{6, 9, 11}));
  EXPECT_EQ(std::get<layer::Attention>(net.layer(made).op).channels, 8);
  EXPECT_EQ(std::get<layer::Attention>(net.layer(made).op).places, 20);
}

TEST(NetworkBuilder, RoundsAPoolUpWhereAsked) {
  EXPECT_EQ(shape_of(layer::MaxPool{.ceil = true}), (Shape3{8, 5, 6}));
  // A window that would begin behind the image is dropped: places 0, 4, 8 along 9, and 12 does not begin inside.
  EXPECT_EQ(shape_of(layer::MaxPool{.kernel = 1, .stride = 4, .ceil = true}), (Shape3{8, 3, 3}));
  NetworkBuilder net("net", {8, 1, 1});
  EXPECT_EQ(net.shape(net.add("x", layer::MaxPool{.ceil = true}, {0})), (Shape3{8, 1, 1}));
}

TEST(NetworkBuilder, TakesChannelsFromTheInput) {
  NetworkBuilder builder("net", {8, 9, 11});
  const int conv = builder.add("conv", layer::Conv{.out = 4}, {0});
  const int norm = builder.add("bn", layer::BatchNorm{}, {conv});
  builder.add("linear", layer::Linear{.out = 2}, {builder.add("cat", layer::Concat{}, {norm, 0})});
  const Network net = std::move(builder).finish();
  EXPECT_EQ(std::get<layer::Conv>(net.layer(1).op).in, 8);
  EXPECT_EQ(std::get<layer::BatchNorm>(net.layer(2).op).channels, 4);
  EXPECT_EQ(net.layer(3).out, (Shape3{12, 9, 11}));
  EXPECT_EQ(std::get<layer::Linear>(net.layer(4).op).in, 12 * 9 * 11);
  EXPECT_EQ(net.classes(), 2);
  EXPECT_EQ(net.input(), (Shape3{8, 9, 11}));
  EXPECT_EQ(net.input_of(1), (Shape3{8, 9, 11}));
  EXPECT_EQ(net.find("bn"), 2);
  EXPECT_EQ(net.find("nowhere"), std::nullopt);
}

TEST(NetworkBuilder, SaysWhichShapesDoNotFit) {
  EXPECT_EQ(refusal(layer::Conv{.out = 4, .kernel_h = 3, .kernel_w = 13, .pad_w = 0}),
            "a window that spans 13 does not fit into 8x9x11 with padding 0");
  EXPECT_EQ(refusal(layer::Conv{.out = 4, .groups = 3}), "3 groups do not divide 8 channels in and 4 channels out");
  EXPECT_EQ(refusal(layer::Conv{.in = 3, .out = 4}), "input channels are 3, but its input 8x9x11 has 8");
  EXPECT_EQ(refusal(layer::BatchNorm{4}), "channels are 4, but its input 8x9x11 has 8");
  EXPECT_EQ(refusal(layer::Linear{.in = 64, .out = 4}), "inputs are 64, but its input 8x9x11 has 792");
  EXPECT_EQ(refusal(layer::Add{}, {0, 1}), "cannot add 8x9x11 and 8x4x5, needed equal shapes");
  EXPECT_EQ(refusal(layer::Mul{}, {0, 1}), "cannot multiply 8x9x11 by 8x4x5, needed an equal shape or 8x1x1");
  EXPECT_EQ(refusal(layer::Mul{}, {0, 1, 1}), "found 3 inputs, needed 2");
  EXPECT_EQ(refusal(layer::Slice{2, 7}), "channels 2 to 8 of 8x9x11");
  EXPECT_EQ(refusal(layer::Slice{-1, 2}), "first channel: found -1, needed 0 to 65536");
  EXPECT_EQ(refusal(layer::Shuffle{3}), "3 groups do not divide 8 channels");
  EXPECT_EQ(refusal(layer::Pad{0, -1, 0, 0}), "padding: found -1, needed 0 to 65536");
  EXPECT_EQ(refusal(layer::Pad{65536, 0, 0, 0}), "height: found 65545, needed 1 to 65536");
  EXPECT_EQ(refusal(layer::ChannelNorm{4}), "channels are 4, but its input 8x9x11 has 8");
  EXPECT_EQ(refusal(layer::ChannelNorm{.epsilon = 0}), "epsilon is 0, needed 1e-12 to 1");
  EXPECT_EQ(refusal(layer::Rows{7, 3}), "rows 7 to 9 of 8x9x11");
  EXPECT_EQ(refusal(layer::Attention{}), "found 1 inputs, needed 3: queries, keys and values");
  EXPECT_EQ(refusal(layer::Attention{.heads = 3}, {0, 0, 0}), "3 heads do not divide 8 and 8 channels");
  EXPECT_EQ(refusal(layer::Attention{.scale = 0}, {0, 0, 0}), "its scores are multiplied by 0, needed 1e-6 to 1e6");
  EXPECT_EQ(
      refusal(layer::Attention{}, {0, 0, 1}),
      "queries 8x9x11, keys 8x9x11 and values 8x4x5: needed queries and keys of as many channels, keys and values "
      "of as many places");
  EXPECT_EQ(refusal(layer::Concat{}, {0, 1}), "cannot join 8x9x11 and 8x4x5, needed equal heights and widths");
  EXPECT_EQ(refusal(layer::MaxPool{.kernel = 10}), "a window that spans 10 does not fit into 8x9x11 with padding 0");
  EXPECT_EQ(refusal(layer::MaxPool{.kernel = 2, .padding = 2}), "padding 2 is more than half of the window 2");
}

TEST(NetworkBuilder, SaysWhichNumbersAreOutsideTheirLimits) {
  EXPECT_EQ(refusal(layer::Conv{}), "output channels: found 0, needed 1 to 65536");
  EXPECT_EQ(refusal(layer::Conv{.out = 4, .stride = 0}), "stride: found 0, needed 1 to 65536");
  EXPECT_EQ(refusal(layer::Conv{.out = 4, .pad_h = -1}), "padding: found -1, needed 0 to 65536");
  EXPECT_EQ(refusal(layer::Linear{.out = 65537}), "outputs: found 65537, needed 1 to 65536");
  EXPECT_EQ(refusal(layer::Dropout{1}), "dropout probability is 1, needed at least 0 and less than 1");
}

TEST(NetworkBuilder, SaysHowManyInputsALayerNeeds) {
  EXPECT_EQ(refusal(layer::Conv{.out = 4}, {0, 1}), "found 2 inputs, needed 1");
  EXPECT_EQ(refusal(layer::Add{}, {0}), "found 1 inputs, needed at least 2");
  EXPECT_EQ(refusal(layer::Concat{}, {}), "found 0 inputs, needed at least 2");
  EXPECT_EQ(refusal(layer::Input{}, {}), "a network has one input, its first layer");
}

TEST(NetworkBuilder, RefusesNamesUsedTwice) {
  NetworkBuilder net("net", {8, 9, 11});
  net.add("x", layer::Activation{}, {0});
  EXPECT_EQ(message_of([&] { net.add("x", layer::Activation{}, {0}); }), "network `net`: layer name `x` is used twice");
  EXPECT_EQ(message_of([&] { net.add("", layer::Activation{}, {0}); }), "network `net`: layer name `` is empty");
}

TEST(NetworkBuilder, RefusesAnImageWithoutPixels) {
  EXPECT_EQ(message_of([] { NetworkBuilder("net", {3, 0, 32}); }),
            "the image of network `net` is 3x0x32, needed extents of 1 to 65536");
}

TEST(NetworkBuilder, RefusesAnInputThatDoesNotExist) {
  NetworkBuilder net("net", {8, 9, 11});
  try {
    net.add("x", layer::Activation{}, {1});
    FAIL() << "layer 1 does not exist yet";
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::bug);
  }
}

TEST(NetworkBuilder, RefusesToFinishWithoutClassesOrWithDeadLayers) {
  EXPECT_EQ(message_of([] {
              NetworkBuilder net("net", {8, 9, 11});
              net.add("x", layer::Activation{}, {0});
              (void)std::move(net).finish();
            }),
            "network `net` ends with `x` of shape 8x9x11, needed one number per class");
  EXPECT_EQ(message_of([] {
              NetworkBuilder net("net", {8, 9, 11});
              net.add("dead", layer::Activation{}, {0});
              net.add("y", layer::Linear{.out = 2}, {0});
              (void)std::move(net).finish();
            }),
            "network `net`: the result of layer `dead` is not used");
}

TEST(Network, PrintsATableWithTotals) {
  NetworkBuilder net("tiny", {3, 8, 8});
  const int conv = net.add("conv", layer::Conv{.out = 4, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}, {0});
  const int relu = net.add("relu", layer::Activation{}, {conv});
  const int sum = net.add("add", layer::Add{}, {conv, relu});
  net.add("linear", layer::Linear{.out = 10}, {sum});
  EXPECT_EQ(std::move(net).finish().str(),
            "tiny: 3x8x8 -> 10 classes, 9.47k MACs, 2.68k parameters\n"
            "#  layer   what                 from  output   MACs  params\n"
            "0  input   input                      3x8x8       0       0\n"
            "1  conv    conv 3x3 3->4 pad 1  0     4x8x8   6,912     108\n"
            "2  relu    relu                 1     4x8x8       0       0\n"
            "3  add     add                  1 2   4x8x8       0       0\n"
            "4  linear  linear 256->10 bias  3     10x1x1  2,560   2,570\n"
            "   total                                      9,472   2,678\n");
}

}  // namespace
}  // namespace kasimir
