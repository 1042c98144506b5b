// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/norms.h"

#include "unit/onnx/small_model.h"

#include "kasimir/network/weights.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

using test::Numbers;
using test::SmallModel;
using ::testing::ElementsAre;

/// Two convolutions with biases around one without, a gate of one place, and a classifier.
Network folded(bool norm = false) {
  SmallModel model(17, {1, 3, 6, 6});
  const std::vector<test::Attribute> padded{{"pads", Numbers{1, 1, 1, 1}}};
  std::string x = model.node("Conv", {"x", model.tensor({4, 3, 3, 3}), model.tensor({4})}, padded);
  x = model.node("Conv", {model.node("Relu", {x}), model.tensor({4, 4, 3, 3})}, padded);
  if (norm)
    x = model.node("BatchNormalization", {x, model.tensor({4}, {1, 1, 1, 1}), model.tensor({4}), model.tensor({4}),
                                          model.tensor({4}, {1, 2, 3, 4})});
  const std::string gate =
      model.node("Conv", {model.node("GlobalAveragePool", {x}), model.tensor({4, 4, 1, 1}), model.tensor({4})});
  x = model.node("Mul", {x, model.node("Sigmoid", {gate})});
  x = model.node("Relu", {model.node("Conv", {x, model.tensor({6, 4, 1, 1}), model.tensor({6})})});
  x = model.node("Conv", {x, model.tensor({2, 6, 1, 1}), model.tensor({2})});
  return model.read(model.node("GlobalAveragePool", {x})).network;
}

std::vector<double> picture() {
  std::vector<double> image;
  for (int i = 0; i < 3 * 6 * 6; ++i) image.push_back((i * 7 % 19 - 9) / 8.0);
  return image;
}

TEST(Norms, AreMissingBehindConvolutionsWithABiasAndAMap) {
  const Network network = folded();
  std::vector<std::string> names;
  for (const int layer : convolutions_without_norms(network)) names.push_back(network.layer(layer).name);
  EXPECT_THAT(names, ElementsAre("conv3", "conv15"));
  EXPECT_THAT(convolutions_without_norms(folded(true)), ElementsAre());
}

TEST(Norms, ChangeNothingAtInference) {
  const Network network = folded();
  std::map<int, ChannelMoments> moments;
  for (const int layer : convolutions_without_norms(network)) {
    ChannelMoments& of = moments[layer];
    for (std::int64_t c = 0; c < network.layer(layer).out.c; ++c) {
      of.mean.push_back(0.3 * static_cast<double>(c) - 0.5);
      of.variance.push_back(c == 1 ? 0.0 : 0.2 + static_cast<double>(c));  // 0: a channel that is always the same
    }
  }
  const Network changed = with_norms(network, moments);
  EXPECT_EQ(changed.layers().size(), network.layers().size() + 2);
  const auto before = test::scores_of(network, picture());
  const auto after = test::scores_of(changed, picture());
  ASSERT_EQ(before.size(), after.size());
  for (std::size_t i = 0; i < before.size(); ++i) EXPECT_NEAR(after[i], before[i], 1e-5 * std::abs(before[i]) + 1e-6);
  EXPECT_TRUE(starts_whole({&changed, {}}));
  EXPECT_THAT(convolutions_without_norms(changed), ElementsAre());
}

TEST(Norms, GetNamesThatNobodyHas) {
  NetworkBuilder builder("net", {1, 4, 4});
  builder.add("a", layer::Conv{.out = 8}, {0});
  builder.add("a_norm.b", layer::Activation{}, {1});
  builder.add("mean", layer::GlobalAvgPool{}, {2});
  EXPECT_EQ(norm_name(std::move(builder).finish(), 1), "a_norm_");
}

TEST(Head, IsTheLastWeightedLayerBehindWhichNothingIsWeighted) {
  const Network network = folded();
  ASSERT_TRUE(head_of(network).has_value());
  EXPECT_EQ(op_text(network.layer(*head_of(network)).op), "conv 1x1 6->2 bias");
  SmallModel pooled;
  const Network none = pooled.read(pooled.node("GlobalMaxPool", {pooled.node("Relu", {"x"})})).network;
  EXPECT_FALSE(head_of(none).has_value());
}

TEST(Start, IsWholeUntilTheClassesAreOthers) {
  const Network network = folded();
  EXPECT_TRUE(starts_whole({&network, {}}));
  const Network other = network.with_classes(5);
  EXPECT_FALSE(starts_whole({&other, {}}));
}

}  // namespace
}  // namespace kasimir
