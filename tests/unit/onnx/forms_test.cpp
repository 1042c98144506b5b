// SPDX-License-Identifier: Apache-2.0
// The forms in which operator sets and exporters write one thing.
#include "unit/onnx/small_model.h"

#include "kasimir/base/files.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <cmath>

namespace kasimir {
namespace {

using test::Numbers;
using test::SmallModel;
using ::testing::ElementsAre;

/// A mean over the map, so that a network may end behind it.
std::string mean(SmallModel& model, const std::string& x) { return model.node("GlobalAveragePool", {x}); }

std::string conv(SmallModel& model, const std::string& x, const Numbers& shape,
                 const std::vector<test::Attribute>& attributes = {}) {
  return model.node("Conv", {x, model.tensor(shape)}, attributes);
}

const std::vector<float>& start(const Network& network, const std::string& name) {
  for (const NamedTensor& tensor : *network.start())
    if (tensor.name == name) return tensor.values;
  throw std::out_of_range(name);
}

TEST(OnnxForms, ReadsConvolutionsOfAllKinds) {
  SmallModel model;
  std::string x = conv(model, "x", {4, 3, 3, 3}, {{"pads", Numbers{1, 1, 1, 1}}, {"strides", Numbers{2, 2}}});
  x = conv(model, x, {4, 2, 1, 3},
           {{"group", std::int64_t{2}}, {"pads", Numbers{0, 2, 0, 2}}, {"dilations", Numbers{2, 2}}});
  x = conv(model, x, {6, 4, 2, 2}, {{"pads", Numbers{0, 0, 1, 1}}});
  EXPECT_EQ(model.layers(mean(model, x)),
            "conv 3x3 /2 3->4 pad 1; conv 1x3 4->4 pad 0x2 dilation 2 groups 2; pad top 0 left 0 bottom 1 right 1; "
            "conv 2x2 4->6; global avgpool");
}

TEST(OnnxForms, GivesZerosBeforeAConvolutionToIt) {
  SmallModel model;
  std::string x = model.node("Pad", {"x", model.integers({0, 0, 1, 2, 0, 0, 1, 2})});
  x = conv(model, x, {4, 3, 3, 3}, {{"pads", Numbers{1, 0, 1, 0}}});
  EXPECT_EQ(model.layers(mean(model, x)), "conv 3x3 3->4 pad 2; global avgpool");
  // Zeros in front and behind become even together; where they do not, they stay.
  SmallModel together;
  x = together.node("Pad", {"x", together.integers({0, 0, 1, 1, 0, 0, 0, 0})});
  x = conv(together, x, {4, 3, 3, 3}, {{"pads", Numbers{0, 0, 1, 1}}});
  EXPECT_EQ(together.layers(mean(together, x)), "conv 3x3 3->4 pad 1; global avgpool");
  SmallModel uneven;
  x = uneven.node("Pad", {"x", uneven.integers({0, 0, 0, 0, 0, 0, 1, 1})});
  x = conv(uneven, x, {4, 3, 3, 3});
  EXPECT_EQ(uneven.layers(mean(uneven, x)), "pad top 0 left 0 bottom 1 right 1; conv 3x3 3->4; global avgpool");
}

TEST(OnnxForms, PadsAsTensorFlowDoes) {
  SmallModel even;
  EXPECT_EQ(even.layers(mean(even, conv(even, "x", {4, 3, 3, 3}, {{"auto_pad", "SAME_UPPER"}}))),
            "conv 3x3 3->4 pad 1; global avgpool");
  SmallModel behind;
  const std::vector<test::Attribute> strided{{"auto_pad", "SAME_UPPER"}, {"strides", Numbers{2, 2}}};
  EXPECT_EQ(behind.layers(mean(behind, conv(behind, "x", {4, 3, 3, 3}, strided))),
            "pad top 0 left 0 bottom 1 right 1; conv 3x3 /2 3->4; global avgpool");
  SmallModel front;
  const std::vector<test::Attribute> lower{{"auto_pad", "SAME_LOWER"}, {"strides", Numbers{2, 2}}};
  EXPECT_EQ(front.layers(mean(front, conv(front, "x", {4, 3, 3, 3}, lower))),
            "pad top 1 left 1 bottom 0 right 0; conv 3x3 /2 3->4; global avgpool");
}

TEST(OnnxForms, TakesColoursLastAndTurnsTheRowsOfTheClassifier) {
  SmallModel model(17, {1, 5, 6, 3});
  std::string x = model.node("Transpose", {"x"}, {{"perm", Numbers{0, 3, 1, 2}}});
  x = model.node("Relu", {x});
  x = model.node("Transpose", {x}, {{"perm", Numbers{0, 2, 3, 1}}});
  x = model.node("Flatten", {x});
  const std::string matrix = model.tensor({90, 2});
  const ImportedNetwork read = model.read(model.node("MatMul", {x, matrix}));
  EXPECT_EQ(read.network.input(), (Shape3{3, 5, 6}));
  EXPECT_EQ(test::layers_of(read.network), "relu; linear 90->2");
  // Element (h, w, c) of the image is row (h * 6 + w) * 3 + c of the matrix and column (c * 5 + h) * 6 + w here.
  const auto value = [](int row, int out) {
    const int i = row * 2 + out;
    return static_cast<float>(i % 7 + 1) / 8 * (i % 2 == 0 ? 1.0F : -1.0F);
  };
  const auto& weights = start(read.network, "matmul6.weight");
  for (int c = 0; c < 3; ++c)
    for (int h = 0; h < 5; ++h)
      for (int w = 0; w < 6; ++w)
        for (int out = 0; out < 2; ++out)
          EXPECT_EQ(weights[static_cast<std::size_t>(out * 90 + (c * 5 + h) * 6 + w)], value((h * 6 + w) * 3 + c, out));
}

TEST(OnnxForms, ReadsActivations) {
  SmallModel model;
  std::string x = model.node("Clip", {"x", model.number(0), model.number(6)});
  x = model.node("Clip", {x, model.number(0)});
  for (const char* op : {"Relu", "Sigmoid", "Tanh", "HardSwish", "Gelu"}) x = model.node(op, {x});
  x = model.node("HardSigmoid", {x}, {{"alpha", 1.0F / 6}});
  x = model.node("Mul", {model.node("Sigmoid", {x}), x});
  x = model.node("Mul", {x, model.node("HardSigmoid", {x}, {{"alpha", 1.0F / 6}})});
  EXPECT_EQ(model.layers(mean(model, x)),
            "relu6; relu; relu; sigmoid; tanh; hardswish; gelu; hardsigmoid; silu; hardswish; global avgpool");
}

TEST(OnnxForms, ReadsTheOlderFormsOfAttributes) {
  SmallModel model(11);
  std::string x = model.node("Clip", {"x"}, {{"min", 0.0F}, {"max", 6.0F}});
  x = model.node("Pad", {x}, {{"pads", Numbers{0, 0, 1, 0, 0, 0, 0, 2}}});
  x = model.node("ReduceMean", {x}, {{"axes", Numbers{2, 3}}, {"keepdims", std::int64_t{0}}});
  x = model.node("Unsqueeze", {x}, {{"axes", Numbers{2, 3}}});
  x = model.node("Squeeze", {x}, {{"axes", Numbers{3, 2}}});
  EXPECT_EQ(model.layers(x), "relu6; pad top 1 left 0 bottom 0 right 2; global avgpool");
  SmallModel parts(11, {1, 6, 4, 4});
  const std::string split = parts.node("Split", {"x"}, {{"axis", std::int64_t{1}}, {"split", Numbers{2, 4}}}, 2);
  EXPECT_EQ(parts.layers(mean(parts, split + ".1")), "channels 2..5; global avgpool");
}

TEST(OnnxForms, ComputesShapesThatAreMadeOfShapes) {
  SmallModel model;
  const std::string shape = model.node("Shape", {"x"});
  const std::string count = model.node("Gather", {shape, model.integers({0})});
  const std::string target = model.node("Concat", {count, model.integers({-1})}, {{"axis", std::int64_t{0}}});
  const std::string flat = model.node("Reshape", {"x", target});
  EXPECT_EQ(model.layers(model.node("Gemm", {flat, model.tensor({5, 192})}, {{"transB", std::int64_t{1}}})),
            "linear 192->5");
}

TEST(OnnxForms, MovesFactorsAndOffsetsIntoTheLayerBefore) {
  SmallModel model(17, {1, 2, 3, 3});
  std::string x = model.node("Conv", {"x", model.tensor({2, 2, 1, 1}, {1, 2, 3, 4}, "first.weight")});
  x = model.node("Mul", {x, model.tensor({1, 2, 1, 1}, {10, 100})});
  x = model.node("Add", {model.tensor({2, 1, 1}, {5, 6}), x});
  x = model.node("Sub", {x, model.number(1)});
  x = model.node("Div", {x, model.number(2)});
  const ImportedNetwork read = model.read(mean(model, x));
  EXPECT_EQ(test::layers_of(read.network), "conv 1x1 2->2 bias; global avgpool");
  EXPECT_THAT(start(read.network, "first.weight"), ElementsAre(5, 10, 150, 200));
  EXPECT_THAT(start(read.network, "first.bias"), ElementsAre(2, 2.5));
}

TEST(OnnxForms, MakesALayerOfFactorsOfTheImage) {
  SmallModel model(17, {1, 2, 1, 1});
  const std::string scaled = model.node("Mul", {"x", model.tensor({2, 1, 1}, {3, 4})});
  const ImportedNetwork read = model.read(model.node("Relu", {model.node("Add", {scaled, model.number(1)})}));
  EXPECT_EQ(test::layers_of(read.network), "conv 1x1 2->2 groups 2 bias; relu");
  EXPECT_THAT(test::scores_of(read.network, {2, -1}), ElementsAre(7, 0));
}

TEST(OnnxForms, KeepsALayerThatOthersReadBesideItsScaledValue) {
  SmallModel model(17, {1, 2, 1, 1});
  const std::string x = model.node("Conv", {"x", model.tensor({2, 2, 1, 1}, {1, 0, 0, 1})});
  const ImportedNetwork read = model.read(model.node("Add", {x, model.node("Mul", {x, model.number(3)})}));
  EXPECT_EQ(test::layers_of(read.network), "conv 1x1 2->2; conv 1x1 2->2 groups 2; add");
  EXPECT_THAT(test::scores_of(read.network, {2, -1}), ElementsAre(8, -4));
}

TEST(OnnxForms, StoresAnotherEpsilonInTheVariance) {
  SmallModel model(17, {1, 1, 1, 1});
  const std::string norm = model.node(
      "BatchNormalization",
      {"x", model.tensor({1}, {2}), model.tensor({1}, {1}), model.tensor({1}, {3}), model.tensor({1}, {0.25F})},
      {{"epsilon", 0.75F}});
  EXPECT_NEAR(test::scores_of(model.read(norm).network, {4})[0], 3.0, 1e-6);
}

TEST(OnnxForms, WritesOutGeluInTwoOrders) {
  for (const bool half_first : {false, true}) {
    SmallModel model(17, {1, 2, 1, 1});
    const std::string erf = model.node("Erf", {model.node("Mul", {"x", model.number(0.70710678F)})});
    const std::string risen = model.node("Add", {erf, model.number(1)});
    const std::string result = half_first ? model.node("Mul", {model.node("Mul", {"x", model.number(0.5F)}), risen})
                                          : model.node("Mul", {model.number(0.5F), model.node("Mul", {"x", risen})});
    const ImportedNetwork read = model.read(result);
    EXPECT_EQ(test::layers_of(read.network), "gelu");
    EXPECT_NEAR(test::scores_of(read.network, {1, -2})[0], 0.5 * (1 + std::erf(std::sqrt(0.5))), 1e-9);
  }
}

TEST(OnnxForms, NamesAMatrixAfterTheBiasThatIsAddedToIt) {
  SmallModel model(17, {1, 2, 1, 2});
  const std::string last = model.node("Transpose", {"x"}, {{"perm", Numbers{0, 2, 3, 1}}});
  const std::string product = model.node("MatMul", {last, model.tensor({2, 3}, {1, 2, 3, 4, 5, 6}, "val_7")});
  const std::string sum = model.node("Add", {model.tensor({3}, {1, 2, 3}, "block.up.bias"), product});
  const ImportedNetwork read = model.read(model.node("ReduceMean", {sum}, {{"axes", Numbers{1, 2}}}));
  EXPECT_EQ(test::layers_of(read.network), "conv 1x1 2->3 bias; global avgpool");
  EXPECT_THAT(start(read.network, "block.up.weight"), ElementsAre(1, 4, 2, 5, 3, 6));
  EXPECT_THAT(start(read.network, "block.up.bias"), ElementsAre(1, 2, 3));
}

TEST(OnnxForms, JoinsWhatADenseBlockJoinedBefore) {
  SmallModel model(17, {1, 2, 1, 1});
  const std::string a = model.node("Relu", {"x"});
  const std::vector<test::Attribute> channels{{"axis", std::int64_t{1}}};
  const std::string b = model.node("Tanh", {model.node("Concat", {"x", a}, channels)});
  const std::string again = model.node("Concat", {"x", a}, channels);
  const std::string all = model.node("Concat", {"x", a, b, again}, channels);
  const ImportedNetwork read = model.read(all);
  EXPECT_EQ(test::layers_of(read.network), "relu; concat; tanh; concat");
  EXPECT_THAT(test::scores_of(read.network, {2, -1}),
              ElementsAre(2, -1, 2, 0, std::tanh(2.0), std::tanh(-1.0), std::tanh(2.0), 0, 2, -1, 2, 0));
}

TEST(OnnxForms, LeavesOutSoftmaxAtTheEndAndSaysSo) {
  SmallModel model;
  const ImportedNetwork read = model.read(model.node("Softmax", {mean(model, "x")}));
  EXPECT_EQ(test::layers_of(read.network), "global avgpool");
  EXPECT_THAT(read.notes, ElementsAre("the Softmax at its end is left out: networks here give scores, which are in the "
                                      "same order"));
}

TEST(OnnxForms, IgnoresWhatTheResultDoesNotNeed) {
  SmallModel model;
  model.node("NonMaxSuppression", {"x"});
  model.node("Relu", {"x"});
  EXPECT_EQ(model.layers(mean(model, "x")), "global avgpool");
}

TEST(OnnxForms, ReadsEveryTypeOfNumbers) {
  SmallModel model(17, {1, 4, 1, 1});
  auto* half = model.model.mutable_graph()->add_initializer();
  half->set_name("half");
  half->set_data_type(onnx::TensorProto::FLOAT16);
  half->add_dims(4);
  // 1, -2, 2^-24 (the smallest), 65504 (the largest).
  half->set_raw_data(std::string("\x00\x3c\x00\xc0\x01\x00\xff\x7b", 8));
  auto* wide = model.model.mutable_graph()->add_initializer();
  wide->set_name("wide");
  wide->set_data_type(onnx::TensorProto::DOUBLE);
  for (const int extent : {4, 1, 1}) wide->add_dims(extent);
  for (const double value : {0.5, 0.25, 1.0, 0.0}) wide->add_double_data(value);
  const std::string x = model.node("Add", {"x", "wide"});
  const std::string column = model.node("Unsqueeze", {"half", model.integers({1, 2})});
  const ImportedNetwork read = model.read(model.node("Mul", {x, column}));
  EXPECT_THAT(test::scores_of(read.network, {1, 1, 1, 1}), ElementsAre(1.5, -2.5, std::ldexp(2.0, -24), 65504));
}

TEST(OnnxForms, ReadsTensorsOfOtherFiles) {
  const auto folder = std::filesystem::path(::testing::TempDir()) / "onnx_outside";
  make_folder(folder);
  SmallModel model(17, {1, 1, 1, 2});
  auto* outside = model.model.mutable_graph()->add_initializer();
  outside->set_name("w");
  outside->set_data_type(onnx::TensorProto::FLOAT);
  for (const int extent : {1, 2}) outside->add_dims(extent);
  outside->set_data_location(onnx::TensorProto::EXTERNAL);
  for (const auto& [key, value] :
       {std::pair("location", "w.bin"), std::pair("offset", "4"), std::pair("length", "8")}) {
    auto* entry = outside->add_external_data();
    entry->set_key(key);
    entry->set_value(value);
  }
  const float values[] = {9, 3, 4, 9};
  write_file(folder / "w.bin", std::string_view(reinterpret_cast<const char*>(values), sizeof(values)));
  const std::string flat = model.node("Flatten", {"x"});
  write_file(folder / "net.onnx", model.bytes(model.node("Gemm", {flat, "w"}, {{"transB", std::int64_t{1}}})));
  EXPECT_THAT(test::scores_of(import_onnx(folder / "net.onnx").network, {10, 100}), ElementsAre(430));
}

TEST(OnnxForms, TakesTheSizeOfImagesThatIsAskedFor) {
  SmallModel model(17, {0, 3, 0, 0});
  const std::string result = mean(model, conv(model, "x", {4, 3, 3, 3}));
  EXPECT_EQ(model.read(result, {3, 20, 30}).network.input(), (Shape3{3, 20, 30}));
}

TEST(OnnxForms, NamesLayersAfterTheirWeightsAndScopes) {
  SmallModel model;
  std::string x = model.node("Conv", {"x", model.tensor({4, 3, 1, 1}, {}, "layer1.0.conv.weight")});
  x = model.node("Relu", {x});
  model.model.mutable_graph()->mutable_node(1)->set_name("/layer1/layer1.0/act/Relu");
  x = model.node("Relu", {x});
  model.model.mutable_graph()->mutable_node(2)->set_name("/layer1/layer1.0/act/Relu_1");
  x = model.node("Relu", {x});
  model.model.mutable_graph()->mutable_node(3)->set_name("layer1.0.conv");
  std::vector<std::string> names;
  const ImportedNetwork read = model.read(mean(model, x));
  for (const Layer& layer : read.network.layers()) names.push_back(layer.name);
  EXPECT_THAT(names, ElementsAre("input", "layer1.0.conv", "layer1.0.act", "layer1.0.act_1", "layer1.0.conv_2",
                                 "globalaveragepool5"));
}

}  // namespace
}  // namespace kasimir
