// SPDX-License-Identifier: Apache-2.0
// Files of exporters: ours, and PyTorch's two, whose results ONNX Runtime computed (tools/peers/onnx_fixtures.py).
#include "unit/onnx/small_model.h"

#include "kasimir/base/files.h"
#include "kasimir/codegen/onnx.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"
#include "support/every_layer.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using ::testing::Contains;
using ::testing::Not;

const std::filesystem::path fixtures = std::filesystem::path(KASIMIR_SOURCE_DIR) / "tests/reference/onnx";

/// What our exporter writes of a network, read again.
ImportedNetwork exported(const Network& network, const std::vector<NamedTensor>& weights) {
  return parse_onnx(export_onnx({&network, {}}, weights).at(0).content, network.name() + ".onnx");
}

void expect_same_weights(const std::vector<NamedTensor>& found, const std::vector<NamedTensor>& wanted) {
  ASSERT_EQ(found.size(), wanted.size());
  for (std::size_t i = 0; i < found.size(); ++i) {
    EXPECT_EQ(found[i].shape, wanted[i].shape) << wanted[i].name;
    EXPECT_EQ(found[i].learned, wanted[i].learned) << wanted[i].name;
    EXPECT_EQ(found[i].values, wanted[i].values) << wanted[i].name;
  }
}

/// Rounding up is written as padding, and here changes nothing.
std::string without_ceil(std::string text) {
  for (auto at = text.find(" ceil"); at != std::string::npos; at = text.find(" ceil")) text.erase(at, 5);
  return text;
}

TEST(ImportedOnnx, IsTheNetworkThatWasExportedForTheWholeZoo) {
  for (const ZooRecord& record : zoo()) {
    const Network network = record.build({.classes = 7, .input = {3, 32, 32}, .width = 0.25});
    const auto weights = random_weights({&network, {}}, 3);
    const ImportedNetwork read = exported(network, weights);
    std::string wanted;
    for (std::size_t i = 1; i < network.layers().size(); ++i)
      if (!std::holds_alternative<layer::Dropout>(network.layers()[i].op))
        wanted += (wanted.empty() ? "" : "; ") + op_text(network.layers()[i].op);
    EXPECT_EQ(without_ceil(test::layers_of(read.network)), without_ceil(wanted)) << record.name;
    expect_same_weights(*read.network.start(), weights);
    EXPECT_EQ(read.network.name(), record.name);
    EXPECT_EQ(read.opset, 17);
  }
}

TEST(ImportedOnnx, HasEveryKindOfLayer) {
  const Network network = testing::every_layer();
  const auto weights = random_weights({&network, {}}, 4);
  const ImportedNetwork read = exported(network, weights);
  EXPECT_EQ(test::layers_of(read.network), test::layers_of(network));
  expect_same_weights(*read.network.start(), weights);
}

TEST(ImportedOnnx, KeepsTheNamesOfWeightsAndStartsFromThem) {
  const Network network = zoo_network("resnet8", {.classes = 4, .input = {3, 8, 8}, .width = 0.5});
  const auto weights = random_weights({&network, {}}, 5);
  const ImportedNetwork read = exported(network, weights);
  std::vector<std::string> names;
  for (const Layer& layer : read.network.layers()) names.push_back(layer.name);
  EXPECT_THAT(names, Contains("stage2.block1.conv1"));
  EXPECT_THAT(names, Contains("head.linear"));
  expect_same_weights(random_weights({&read.network, {}}, 99), weights);
  const auto sites = find_sites(read.network);
  const Kernel kernel = parse_kernel("kernel k\n  a = stride(x)\n  b = linear(a, to=Co)\nreturn b\n", catalog());
  std::vector<SiteRef> first{sites.front()};
  const NetworkPlan plan = replace_with(read.network, first, kernel);
  for (const NamedTensor& tensor : random_weights(plan, 99)) {
    const bool same = std::ranges::any_of(weights, [&](const auto& w) { return w.values == tensor.values; });
    EXPECT_EQ(same, !tensor.name.starts_with(first[0].name + ".")) << tensor.name;
  }
}

TEST(ImportedOnnx, TakesOtherNumbersOfClasses) {
  const Network network = zoo_network("resnet8", {.classes = 4, .input = {3, 8, 8}, .width = 0.5});
  const ImportedNetwork read = exported(network, random_weights({&network, {}}, 5));
  const Network ten = read.network.with_classes(10);
  EXPECT_EQ(ten.classes(), 10);
  std::vector<std::string> names;
  for (const NamedTensor& tensor : *ten.start()) names.push_back(tensor.name);
  EXPECT_EQ(names.size() + 2, read.network.start()->size());
  EXPECT_THAT(names, Not(Contains("head.linear.weight")));
  EXPECT_THAT(names, Contains("stem.conv.weight"));
}

TEST(ImportedOnnx, GivesTheScoresThatOnnxRuntimeGives) {
  // Images of (i % 17 - 8) / 8; scores by ONNX Runtime 1.31.1 of both files.
  const std::vector<double> mixed{-0.2227139, -0.2894866, 0.6187514, 0.4721486, 0.2607445};
  const std::vector<double> transformer{1.2361008, 1.4901577, -0.5206811, 2.1089058, -0.7530550};
  std::vector<double> image;
  for (int i = 0; i < 3 * 16 * 16; ++i) image.push_back((i % 17 - 8) / 8.0);
  for (const auto& [name, wanted] : {std::pair("mixed", mixed), std::pair("transformer", transformer)})
    for (const char* exporter : {"script", "dynamo"}) {
      const std::string file = fmt::format("{}-{}.onnx", name, exporter);
      const ImportedNetwork read = import_onnx(fixtures / file);
      const auto found = test::scores_of(read.network, image);
      ASSERT_EQ(found.size(), wanted.size()) << file;
      for (std::size_t i = 0; i < wanted.size(); ++i) EXPECT_NEAR(found[i], wanted[i], 4e-6) << file << ' ' << i;
    }
}

TEST(ImportedOnnx, HasOneLayerForWhatExportersWriteOut) {
  const std::string wanted =
      "conv 3x3 /2 3->8 pad 1 bias; hardswish; channels 0..3; channels 4..7; conv 3x3 4->4 pad 1 groups 4 bias; "
      "concat; "
      "shuffle 2 groups; global avgpool; conv 1x1 8->4 bias; silu; conv 1x1 4->8 bias; sigmoid; mul; channelnorm; "
      "conv 1x1 8->12 bias; gelu; conv 1x1 12->8 bias; add; batchnorm; relu; maxpool 3x3 /2 pad 1; avgpool 2x2 /2; "
      "hardsigmoid; global avgpool; linear 8->5 bias";
  EXPECT_EQ(test::layers_of(import_onnx(fixtures / "mixed-script.onnx").network), wanted);
  EXPECT_EQ(test::layers_of(import_onnx(fixtures / "mixed-dynamo.onnx").network), wanted);
}

TEST(ImportedOnnx, HasALayerForAttentionAndOneMapForClassTokenAndPositions) {
  const std::string block =
      "channelnorm; conv 1x1 8->24 bias; channels 0..7; channels 8..15; channels 16..23; attention 2 heads of 4; "
      "conv 1x1 8->8 bias; add; channelnorm; conv 1x1 8->12 bias; gelu; conv 1x1 12->8 bias; add; ";
  const std::string wanted = "conv 8x8 /8 3->8 bias; sequence; pad top 1 left 0 bottom 0 right 0; learned map; " +
                             block + block + "channelnorm; rows 0..0; linear 8->5 bias";
  for (const char* file : {"transformer-script.onnx", "transformer-dynamo.onnx"}) {
    const Network network = import_onnx(fixtures / file).network;
    EXPECT_EQ(test::layers_of(network), wanted) << file;
    for (const Layer& of : network.layers()) {
      if (const auto* attention = std::get_if<layer::Attention>(&of.op)) {
        EXPECT_NEAR(attention->scale, 0.5, 1e-6) << file;
      }
    }
  }
}

}  // namespace
}  // namespace kasimir
