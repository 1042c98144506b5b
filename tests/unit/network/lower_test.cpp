// SPDX-License-Identifier: Apache-2.0
#include "message.h"

#include "kasimir/codegen/work.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/network/lower.h"
#include "kasimir/network/zoo.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

TEST(LowerNetwork, GivesStagesOfTheLayersShapesForTheWholeZoo) {
  for (const ZooRecord& record : zoo()) {
    const Network network = record.build(record.defaults);
    const auto lowered = lower_network({&network, {}}, 2);
    ASSERT_TRUE(lowered.ok()) << record.name << ": " << lowered.rejection().str();
    const BoundGraph& graph = lowered->graph;
    EXPECT_EQ(lowered->names.size(), graph.tensors.size());
    for (std::size_t i = 1; i < network.layers().size(); ++i) {
      const Layer& layer = network.layers()[i];
      if (std::holds_alternative<layer::Dropout>(layer.op)) continue;
      const auto named = [&](const BoundTensor& tensor) { return tensor.name == layer.name; };
      const auto found = std::find_if(graph.tensors.begin(), graph.tensors.end(), named);
      ASSERT_NE(found, graph.tensors.end()) << record.name << ' ' << layer.name;
      EXPECT_EQ(found->axes[0].extent, 2);
      EXPECT_EQ((Shape3{found->axes[1].extent, found->axes[2].extent, found->axes[3].extent}), layer.out);
    }
    EXPECT_EQ(elements(graph.tensors[static_cast<std::size_t>(graph.output)]), 2 * network.classes());
  }
}

TEST(LowerNetwork, CountsTheNetworksParametersAndMultiplications) {
  for (const ZooRecord& record : zoo()) {
    const Network network = record.build(record.defaults);
    const NetworkPlan plan{&network, {}};
    std::int64_t learned = 0;
    for (const NamedTensor& tensor : random_weights(plan, 1))
      learned += tensor.learned ? static_cast<std::int64_t>(tensor.values.size()) : 0;
    EXPECT_EQ(learned, network.cost().params) << record.name;
    std::int64_t macs = 0;
    const auto lowered = lower_network(plan, 1);
    for (const BoundStage& stage : lowered->graph.stages)
      if (stage.reduce == Reduce::sum && stage.nodes.size() == 3) macs += domain(stage);
    EXPECT_EQ(macs, network.cost().macs) << record.name;
  }
}

TEST(LowerNetwork, RejectsAPaddedMaximumOfWhatMayBeNegative) {
  NetworkBuilder net("odd", {3, 8, 8});
  const int conv = net.add("conv", layer::Conv{.out = 4, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}, {0});
  const int pool = net.add("pool", layer::MaxPool{.kernel = 3, .stride = 2, .padding = 1}, {conv});
  net.add("out", layer::Linear{.out = 2}, {pool});
  const Network network = std::move(net).finish();
  EXPECT_EQ(
      lower_network({&network, {}}, 1).rejection().str(),
      "a maximum that reads outside the image has an input that is not negative (layer `pool` (maxpool 3x3 /2 pad "
      "1) of network `odd`)");
}

TEST(NetworkWeights, AreTakenByNameAndSize) {
  const Network network = zoo_network("resnet8");
  const NetworkPlan plan{&network, {}};
  const auto lowered = lower_network(plan, 1);
  auto weights = random_weights(plan, 1);
  EXPECT_EQ(values_of(*lowered, weights).size(), lowered->graph.tensors.size());
  weights[0].values.pop_back();
  EXPECT_EQ(message_of([&] { static_cast<void>(values_of(*lowered, weights)); }),
            "tensor `stem.conv.weight` has 431 values, needed 432");
  weights.erase(weights.begin());
  EXPECT_EQ(message_of([&] { static_cast<void>(values_of(*lowered, weights)); }),
            "the weights lack tensor `stem.conv.weight`");
}

}  // namespace
}  // namespace kasimir
