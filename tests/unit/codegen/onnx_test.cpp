// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/onnx.h"

#include "kasimir/base/error.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <onnx/checker.h>
#include <onnx/onnx_pb.h>

#include <algorithm>
#include <cstring>

namespace kasimir {
namespace {

using ::testing::AllOf;
using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsSupersetOf;

onnx::ModelProto exported(const NetworkPlan& plan, const ExportNotes& notes = {},
                          const Quantization& quantization = {}) {
  onnx::ModelProto model;
  EXPECT_TRUE(model.ParseFromString(export_onnx(plan, random_weights(plan, 1), notes, quantization).at(0).content));
  onnx::checker::check_model(model);
  return model;
}

std::vector<std::string> operators(const onnx::ModelProto& model) {
  std::vector<std::string> all;
  for (const auto& node : model.graph().node()) all.push_back(node.op_type());
  return all;
}

/// A network whose only convolution is replaced.
std::vector<std::string> operators_of(const std::string& kernel, const Site& site) {
  NetworkBuilder net("one", {site.ci, site.h * site.s, site.w * site.s});
  net.add("head", layer::GlobalAvgPool{},
          {net.add("conv",
                   layer::Conv{.out = site.co, .kernel_h = 3, .kernel_w = 3, .stride = site.s, .pad_h = 1, .pad_w = 1},
                   {0})});
  const Network network = std::move(net).finish();
  auto found = operators(exported({&network, {{1, {parse_kernel(kernel, catalog()), site}}}}));
  EXPECT_EQ(found.back(), "Flatten");
  found.resize(found.size() - 2);
  return found;
}

const onnx::NodeProto& node(const onnx::ModelProto& model, const std::string& name) {
  const auto& nodes = model.graph().node();
  const auto found = std::ranges::find_if(nodes, [&](const auto& n) { return n.name() == name; });
  if (found == nodes.end()) throw std::out_of_range(name);
  return *found;
}

std::vector<std::int64_t> integers(const onnx::NodeProto& node, const std::string& name) {
  for (const auto& attribute : node.attribute())
    if (attribute.name() == name) return {attribute.ints().begin(), attribute.ints().end()};
  return {};
}

TEST(Onnx, HoldsLayersByTheirNamesAndWeightsByTheirs) {
  const Network network = zoo_network("resnet8", {.classes = 4, .input = {3, 8, 8}, .width = 0.5});
  const NetworkPlan plan{&network, {}};
  const onnx::ModelProto model = exported(plan, {{"accuracy", "0.91"}});
  EXPECT_EQ(model.ir_version(), 8);
  ASSERT_EQ(model.opset_import_size(), 1);
  EXPECT_EQ(model.opset_import(0).domain(), "");
  EXPECT_EQ(model.opset_import(0).version(), 17);
  ASSERT_EQ(model.metadata_props_size(), 1);
  EXPECT_EQ(model.metadata_props(0).key() + "=" + model.metadata_props(0).value(), "accuracy=0.91");
  std::vector<std::string> wanted;
  for (const NamedTensor& tensor : random_weights(plan, 1)) wanted.push_back(tensor.name);
  std::vector<std::string> found;
  for (const auto& tensor : model.graph().initializer()) found.push_back(tensor.name());
  EXPECT_THAT(found, IsSupersetOf(wanted));
  EXPECT_EQ(node(model, "stage2.block1.conv1").op_type(), "Conv");
  EXPECT_THAT(integers(node(model, "stage2.block1.conv1"), "strides"), ElementsAre(2, 2));
  EXPECT_THAT(integers(node(model, "stage2.block1.conv1"), "pads"), ElementsAre(1, 1, 1, 1));
  EXPECT_EQ(node(model, "head.linear").op_type(), "Gemm");
}

TEST(Onnx, TakesAnyNumberOfImages) {
  const Network network = zoo_network("resnet8", {.classes = 4, .input = {3, 8, 9}, .width = 0.5});
  const onnx::ModelProto model = exported({&network, {}});
  const auto& images = model.graph().input(0);
  EXPECT_EQ(images.name(), "images");
  EXPECT_EQ(images.type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(images.type().tensor_type().shape().dim(3).dim_value(), 9);
  const auto& scores = model.graph().output(0);
  EXPECT_EQ(scores.name(), "scores");
  EXPECT_EQ(scores.type().tensor_type().shape().dim(0).dim_param(), "N");
  EXPECT_EQ(scores.type().tensor_type().shape().dim(1).dim_value(), 4);
}

TEST(Onnx, MakesConvolutionsOfWindowedSums) {
  EXPECT_THAT(operators_of("kernel k\n  a = conv(x, to=Co, stride=yes)\nreturn a\n", Site::parse("4->8x3x5/2")),
              ElementsAre("Conv"));
  EXPECT_THAT(operators_of("kernel k\n  a = unfold(x)\n  b = linear(a, to=Co)\nreturn b\n", Site::parse("4->8x5x5")),
              ElementsAre("Conv"));
  EXPECT_THAT(operators_of("kernel k\n  a = conv(x, to=Ci, groups=Ci)\n  b = linear(a, to=Co)\nreturn b\n",
                           Site::parse("4->8x5x5")),
              ElementsAre("Conv", "Conv"));
}

TEST(Onnx, JoinsTheStagesOfSoftmaxAndOfBatchNorm) {
  EXPECT_THAT(operators_of("kernel k\n  a = linear(x, to=Co)\n  b = norm(a)\n  c = softmax(b, axes=c)\nreturn c\n",
                           Site::parse("4->8x5x5")),
              ElementsAre("Conv", "BatchNormalization", "Softmax"));
}

TEST(Onnx, ComposesWhatHasNoOperatorOfItsOwn) {
  EXPECT_THAT(operators_of("kernel k\n  a = linear(x, to=Co)\n  b = gelu(a)\nreturn b\n", Site::parse("4->8x5x5")),
              ElementsAre("Conv", "Mul", "Erf", "Add", "Mul", "Mul"));
  EXPECT_THAT(operators_of("kernel k\n  a = unfold(x)\n  b = fold(a, axes=(u,v), by=max)\n  c = linear(b, to=Co)\n"
                           "return c\n",
                           Site::parse("4->8x5x5")),
              ElementsAre("Pad", "Gather", "Gather", "ReduceMax", "Conv"));
}

TEST(Onnx, PadsPoolsSoThatNoRuntimeHasToRoundUp) {
  NetworkBuilder net("pools", {2, 6, 7});
  int x = net.add("pool", layer::MaxPool{.kernel = 3, .stride = 2, .padding = 0, .ceil = true}, {0});
  x = net.add("clip", layer::Activation{layer::ActivationKind::relu6}, {x});
  x = net.add("drop", layer::Dropout{0.5}, {x});
  x = net.add("linear", layer::Linear{.out = 3}, {x});
  net.add("norm", layer::BatchNorm{}, {x});
  const Network network = std::move(net).finish();
  const onnx::ModelProto model = exported({&network, {}});
  EXPECT_THAT(operators(model),
              ElementsAre("MaxPool", "Clip", "Flatten", "Gemm", "Unsqueeze", "BatchNormalization", "Flatten"));
  EXPECT_THAT(integers(node(model, "pool"), "pads"), ElementsAre(0, 0, 1, 0));
}

TEST(Onnx, IsWrittenWithAScriptThatComparesIt) {
  const Network network = zoo_network("resnet8", {.classes = 4, .input = {3, 8, 8}, .width = 0.5});
  const NetworkPlan plan{&network, {}};
  const auto files = export_onnx(plan, random_weights(plan, 1));
  ASSERT_EQ(files.size(), 2U);
  EXPECT_EQ(files[0].name, "model.onnx");
  EXPECT_EQ(files[1].name, "check.py");
  EXPECT_THAT(files[1].content, HasSubstr("DIFFERENCE = 1e-4"));
}

/// Two convolutions with batch norm.
Network two_convolutions() {
  NetworkBuilder net("two", {3, 6, 6});
  int x = net.add("a.bn", layer::BatchNorm{}, {net.add("a", layer::Conv{.out = 4}, {0})});
  x = net.add("b.bn", layer::BatchNorm{}, {net.add("b", layer::Conv{.out = 2}, {x})});
  net.add("mean", layer::GlobalAvgPool{}, {x});
  return std::move(net).finish();
}

const onnx::TensorProto& initializer(const onnx::ModelProto& model, const std::string& name) {
  const auto& all = model.graph().initializer();
  const auto found = std::ranges::find_if(all, [&](const auto& t) { return t.name() == name; });
  if (found == all.end()) throw std::out_of_range(name);
  return *found;
}

TEST(QuantizedOnnx, TakesBothOperandsThroughCodesAndTheNormIntoTheConvolution) {
  const Network network = two_convolutions();
  const NetworkPlan plan{&network, {}};
  Quantization quantization;
  quantization["a.weight"] = {{8, true, true}, {8, false, false}, {0.5F, 0.25F, 1, 2}, 1, 0.125F};
  const onnx::ModelProto model = exported(plan, {}, quantization);
  EXPECT_THAT(operators(model),
              ElementsAre("QuantizeLinear", "DequantizeLinear", "DequantizeLinear", "DequantizeLinear", "Conv", "Conv",
                          "BatchNormalization", "GlobalAveragePool", "Flatten"));
  EXPECT_EQ(initializer(model, "a.weight/codes").data_type(), onnx::TensorProto::INT8);
  EXPECT_EQ(initializer(model, "a.weight/codes").raw_data().size(), 12U);
  EXPECT_EQ(initializer(model, "a.bias/codes").data_type(), onnx::TensorProto::INT32);
  EXPECT_EQ(initializer(model, "a/zero").data_type(), onnx::TensorProto::UINT8);
}

TEST(QuantizedOnnx, ClipsToFewerCodesAndKeepsBiasesOfCoarseStepsAsNumbers) {
  const Network network = two_convolutions();
  const NetworkPlan plan{&network, {}};
  Quantization quantization;
  quantization["b.weight"] = {{4, true, true}, {3, true, false}, {0.5F}, 0, 0.5F};
  const onnx::ModelProto model = exported(plan, {}, quantization);
  EXPECT_THAT(operators(model), ElementsAre("Conv", "BatchNormalization", "Clip", "QuantizeLinear", "DequantizeLinear",
                                            "DequantizeLinear", "Conv", "GlobalAveragePool", "Flatten"));
  const auto number = [&](int input) {
    const std::string& bytes = initializer(model, node(model, "b/clipped").input(input)).raw_data();
    float value = 0;
    std::memcpy(&value, bytes.data(), sizeof(value));
    return value;
  };
  EXPECT_EQ(number(1), -2.0F);  // codes -4 .. 3 in steps of a half
  EXPECT_EQ(number(2), 1.5F);
  EXPECT_EQ(initializer(model, "b.bias").data_type(), onnx::TensorProto::FLOAT);
}

TEST(QuantizedOnnx, RoundsNumbersWhereCodesHave16Bits) {
  const Network network = two_convolutions();
  const NetworkPlan plan{&network, {}};
  Quantization quantization;
  quantization["b.weight"] = {{16, true, true}, {16, true, false}, {0.5F}, 0, 0.5F};
  EXPECT_THAT(
      operators(exported(plan, {}, quantization)),
      ElementsAre("Conv", "BatchNormalization", "Div", "Round", "Clip", "Mul", "Conv", "GlobalAveragePool", "Flatten"));
}

TEST(QuantizedOnnx, IsCheckedWithRoomForValuesBetweenTwoCodes) {
  const Network network = two_convolutions();
  const NetworkPlan plan{&network, {}};
  Quantization quantization;
  quantization["b.weight"] = {{8, true, true}, {8, true, false}, {0.5F}, 0, 0.5F};
  EXPECT_THAT(export_onnx(plan, random_weights(plan, 1), {}, quantization)[1].content,
              AllOf(HasSubstr("DIFFERENCE = 0.2"), HasSubstr("SAME = 0.95")));
}

TEST(QuantizedOnnx, RefusesAPlaceThatThereIsNot) {
  const Network network = two_convolutions();
  const NetworkPlan plan{&network, {}};
  try {
    export_onnx(plan, random_weights(plan, 1), {}, {{"c.weight", {}}});
    FAIL() << "no error";
  } catch (const Error& error) {
    EXPECT_STREQ(
        error.what(),
        "the quantization has `c.weight`, which is no weighted sum of network `two`, did you mean `a.weight` or "
        "`b.weight`?");
  }
}

}  // namespace
}  // namespace kasimir
