// SPDX-License-Identifier: Apache-2.0
// Files that few bytes make expensive or that go to the ends of types; each stands for what tests/fuzz tries.
#include "unit/onnx/small_model.h"

#include "unit/network/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>

namespace kasimir {
namespace {

using test::Numbers;
using test::SmallModel;
using ::testing::HasSubstr;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

std::string scalar(SmallModel& model, std::int64_t value) {
  const std::string name = model.integers({value});
  model.model.mutable_graph()->mutable_initializer(model.model.graph().initializer_size() - 1)->clear_dims();
  return name;
}

/// A network that is reshaped to what constants say.
std::string reshaped(SmallModel& model, const std::string& shape) {
  return model.node("Reshape", {model.node("GlobalAveragePool", {"x"}), shape});
}

TEST(OnnxLimits, TakeNothingOfAConstantThatIsEmpty) {
  for (const std::int64_t step : {std::int64_t{1}, std::int64_t{-1}, highest, lowest + 1}) {
    SmallModel model;
    const std::string none = model.node("Slice", {model.integers({}), model.integers({-1}), model.integers({-5}),
                                                  model.integers({0}), model.integers({step})});
    const std::string shape = model.node("Concat", {none, model.integers({1, 3})}, {{"axis", std::int64_t{0}}});
    EXPECT_EQ(model.layers(reshaped(model, shape)), "global avgpool") << step;
  }
}

TEST(OnnxLimits, CountFromOneEndOfTheNumbersToTheOther) {
  SmallModel wide;
  EXPECT_THAT(
      wide.message(reshaped(wide, wide.node("Range", {scalar(wide, lowest), scalar(wide, highest), scalar(wide, 1)}))),
      HasSubstr("numbers in a row"));
  // Between these two, doubles cannot tell how far it is.
  SmallModel near;
  const std::string range = near.node("Range", {scalar(near, highest - 513), scalar(near, highest), scalar(near, 512)});
  EXPECT_THAT(near.message(reshaped(near, range)), HasSubstr(" cannot become 9223372036854775294x9223372036854775806"));
  SmallModel back;
  const std::string down = back.node("Range", {scalar(back, 3), scalar(back, 0), scalar(back, -2)});
  EXPECT_EQ(back.layers(reshaped(back, down)), "global avgpool");
}

TEST(OnnxLimits, RefuseLargeExtentsOfArraysWithoutElements) {
  for (const Numbers& shape : {Numbers{0, std::int64_t{1} << 62}, Numbers{std::int64_t{1} << 30, 0}}) {
    SmallModel model;
    const std::string none = model.integers({});
    auto* tensor = model.model.mutable_graph()->mutable_initializer(0);
    tensor->clear_dims();
    for (const std::int64_t extent : shape) tensor->add_dims(extent);
    EXPECT_THAT(model.message(reshaped(model, model.node("Transpose", {none}))), HasSubstr("has the impossible shape"));
  }
}

TEST(OnnxLimits, JoinAtMostSomeThousandMaps) {
  SmallModel model;
  EXPECT_EQ(model.message(model.node("Concat", std::vector<std::string>(1025, "x"), {{"axis", std::int64_t{1}}})),
            "net.onnx: node `concat1` (Concat): 1025 inputs, at most 1024 are read");
}

TEST(OnnxLimits, CountWeightsThatFactorsAreMultipliedInto) {
  SmallModel model(17, {1, 256, 8, 8});
  // 600,000 weights a thousand times: 2.4 GB, of a file of 2.4 MB.
  std::string x = model.node("Conv", {"x", model.tensor({256, 256, 3, 3})}, {{"pads", Numbers{1, 1, 1, 1}}});
  for (int i = 0; i < 1000; ++i) x = model.node("Mul", {x, model.number(1.5F)});
  EXPECT_THAT(model.message(model.node("GlobalAveragePool", {x})),
              HasSubstr("values of constants so far are too many"));
}

TEST(OnnxLimits, CutNamesOfMillionsOfScopes) {
  SmallModel model;
  std::string scopes;
  for (int i = 0; i < 300'000; ++i) scopes += fmt::format("/s{}", i);
  const std::string x = model.node("Relu", {"x"});
  model.model.mutable_graph()->mutable_node(0)->set_name(scopes + "/Relu");
  const Network network = model.read(model.node("GlobalAveragePool", {x})).network;
  EXPECT_LE(network.layer(1).name.size(), 100U);
  EXPECT_EQ(network.layer(1).name.substr(0, 12), "s0.s1.s2.s3.");
}

}  // namespace
}  // namespace kasimir
