// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/quantization.h"

#include "kasimir/interp/interpreter.h"
#include "kasimir/interp/real.h"
#include "kasimir/network/lower.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

/// "name [shape] axes macs" per place.
std::vector<std::string> lines(const std::vector<WeightedPlace>& places) {
  std::vector<std::string> all;
  for (const WeightedPlace& place : places)
    all.push_back(
        fmt::format("{} [{}] {} {}", place.weight, fmt::join(place.shape, ","), place.channel_axes, place.macs));
  return all;
}

std::vector<WeightedPlace> places_with(const std::string& text) {
  NetworkBuilder net("one", {4, 6, 6});
  const int conv = net.add("conv", layer::Conv{.out = 8, .kernel_h = 3, .kernel_w = 3, .pad_h = 1, .pad_w = 1}, {0});
  net.add("fc", layer::Linear{.out = 3}, {conv});
  const Network network = std::move(net).finish();
  const Kernel kernel = parse_kernel(text, catalog());
  return weighted_places({&network, {{conv, {kernel, {4, 8, 6, 6, 1}}}}});
}

TEST(WeightedPlaces, AreTheConvolutionsAndTheClassifierOfAPlainNetwork) {
  const Network network = zoo_network("resnet8");
  const auto places = weighted_places({&network, {}});
  ASSERT_EQ(places.size(), 10U);
  EXPECT_EQ(lines(places).front(), "stem.conv.weight [16,3,3,3] 1 442368");
  EXPECT_EQ(lines(places).back(), "head.linear.weight [10,64] 1 640");
  EXPECT_EQ(network.layer(places.back().layer).name, "head.linear");
}

TEST(NeverNegative, HoldsOfActivationsAsTheyAreComputed) {
  using enum layer::ActivationKind;
  for (const auto kind : {relu, relu6, hardswish, sigmoid, tanh, silu, gelu, hardsigmoid}) {
    SCOPED_TRACE(op_text(layer::Activation{kind}));
    NetworkBuilder net("one", {1, 1, 61});
    net.add("out", layer::Linear{.out = 1}, {net.add("a", layer::Activation{kind}, {0})});
    const Network network = std::move(net).finish();
    const auto lowered = lower_network({&network, {}}, 1).value();
    TensorValues<double> values(lowered.graph.tensors.size());
    auto& x = values[static_cast<std::size_t>(lowered.graph.input)];
    for (int i = -30; i <= 30; ++i) x.push_back(0.2 * i);
    RealDomain numbers;
    evaluate_stage(lowered.graph, lowered.graph.stages.front(), numbers, values);
    const auto& y = values[static_cast<std::size_t>(lowered.graph.stages.front().out)];
    ASSERT_EQ(y.size(), 61U);
    EXPECT_EQ(never_negative(network)[1], *std::ranges::min_element(y) >= 0);
    EXPECT_EQ(never_negative(layer::Activation{kind}, false), *std::ranges::min_element(y) >= 0);
  }
}

TEST(NeverNegative, FollowsActivationsThroughSumsAndPooling) {
  NetworkBuilder net("one", {4, 6, 6});
  const int conv = net.add("conv", layer::Conv{.out = 4}, {0});
  const int relu = net.add("relu", layer::Activation{layer::ActivationKind::relu}, {conv});
  const int swish = net.add("swish", layer::Activation{layer::ActivationKind::hardswish}, {conv});
  const int both = net.add("both", layer::Add{}, {relu, relu});
  const int mixed = net.add("mixed", layer::Add{}, {relu, swish});
  const int joined = net.add("joined", layer::Concat{}, {both, mixed});
  const int pool = net.add("pool", layer::GlobalAvgPool{}, {both});
  const int all = net.add("all", layer::GlobalAvgPool{}, {joined});
  net.add("sum", layer::Add{},
          {net.add("fc", layer::Linear{.out = 3}, {pool}), net.add("fc2", layer::Linear{.out = 3}, {all})});
  const std::vector<bool> known = never_negative(std::move(net).finish());
  EXPECT_FALSE(known[0]);
  EXPECT_FALSE(known[static_cast<std::size_t>(conv)]);
  EXPECT_TRUE(known[static_cast<std::size_t>(relu)]);
  EXPECT_FALSE(known[static_cast<std::size_t>(swish)]);
  EXPECT_TRUE(known[static_cast<std::size_t>(both)]);
  EXPECT_FALSE(known[static_cast<std::size_t>(mixed)]);
  EXPECT_FALSE(known[static_cast<std::size_t>(joined)]);
  EXPECT_TRUE(known[static_cast<std::size_t>(pool)]);
  EXPECT_FALSE(known[static_cast<std::size_t>(all)]);
}

TEST(WeightedPlaces, HaveAllMultiplicationsOfEveryNetworkOfTheZoo) {
  for (const ZooRecord& record : zoo()) {
    const Network network = record.build(record.defaults);
    std::int64_t macs = 0;
    std::set<std::string> names;
    for (const WeightedPlace& place : weighted_places({&network, {}})) {
      macs += place.macs;
      names.insert(place.weight);
    }
    EXPECT_EQ(macs, network.cost().macs) << record.name;
    EXPECT_EQ(names.size(), weighted_places({&network, {}}).size()) << record.name;
  }
}

TEST(WeightedPlaces, OfKernelsAreTheirLinearStagesAndNotScalesAndNorms) {
  EXPECT_EQ(
      lines(places_with("kernel k\n  a = conv(x, to=Ci, groups=Ci)\n  b = norm(a)\n  c = scale(b, axes=c)\n"
                        "  d = linear(c, to=Co)\nreturn d\n")),
      (std::vector<std::string>{"conv.w0 [4,1,1,3,3] 2 1296", "conv.w4 [8,4] 1 1152", "fc.weight [3,288] 1 864"}));
}

TEST(WeightedPlaces, CountEveryLeadingAxisThatIsNotSummedOver) {
  EXPECT_EQ(lines(places_with("kernel k\ngiven g=2\n  a = group(x, by=g)\n  b = mix(a, over=(g,c), to=(g=g,c=Co/g))\n"
                              "  d = merge(b)\nreturn d\n")),
            (std::vector<std::string>{"conv.w0 [2,4,2,2] 2 1152", "fc.weight [3,288] 1 864"}));
}

TEST(WeightedPlaces, LeaveProductsOfTwoActivationsAlone) {
  const auto places = places_with(
      "kernel k\ngiven g=2\n  b = mix(x, over=c, to=(g=g,u=3,v=3))\n  c = unfold(x)\n  d = group(c, by=g)\n"
      "  e = broadcast(b, d, op=mul)\n  f = fold(e, axes=(u,v), by=sum)\n  h = merge(f)\n  i = linear(h, to=Co)\n"
      "return i\n");
  EXPECT_EQ(lines(places),
            (std::vector<std::string>{"conv.w0 [2,3,3,4] 3 2592", "conv.w1 [8,4] 1 1152", "fc.weight [3,288] 1 864"}));
}

}  // namespace
}  // namespace kasimir
