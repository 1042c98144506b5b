// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/fbnet_space.h"
#include "kasimir/network/residual_space.h"
#include "kasimir/network/zoo.h"
#include "kasimir/primitive/catalog.h"
#include "message.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <set>

namespace kasimir {
namespace {

std::vector<std::size_t> everywhere(const NetworkSpace& space, const std::string& name) {
  std::vector<std::size_t> chosen;
  for (std::size_t b = 0; b < space.blocks.size(); ++b) chosen.push_back(space.find_operator(b, name));
  return chosen;
}

std::vector<std::string> names_between(const Network& network, int first, int end) {
  std::vector<std::string> names;
  for (int i = first; i < end; ++i) names.push_back(network.layer(i).name);
  return names;
}

/// MACs of the 1x1, depthwise and 1x1 convolutions of an inverted block, by the words of the paper.
std::int64_t inverted_macs(Shape3 in, Shape3 out, std::int64_t kernel, std::int64_t expansion, std::int64_t groups) {
  const std::int64_t hidden = in.c * expansion;
  return in.c * hidden / groups * in.h * in.w + hidden * kernel * kernel * out.h * out.w +
         hidden * out.c / groups * out.h * out.w;
}

TEST(FbnetSpace, HasTheBlocksAndTheShapesOfThePublishedOne) {
  const NetworkSpace space = fbnet_space(fbnet_size("cifar"));
  ASSERT_EQ(space.blocks.size(), 22U);
  for (const SpaceBlock& block : space.blocks) EXPECT_EQ(block.operators.size(), 9U);
  const SpaceNetwork made = derive(space, everywhere(space, "k5_e3"));
  std::vector<Shape3> shapes;
  for (const BlockPlace& place : made.blocks) shapes.push_back(made.network.layer(place.out).out);
  std::vector<Shape3> wanted{{16, 32, 32}};
  for (const Shape3& shape : {Shape3{24, 32, 32}, {32, 16, 16}, {64, 8, 8}, {112, 8, 8}, {184, 4, 4}})
    wanted.insert(wanted.end(), 4, shape);
  wanted.push_back({352, 4, 4});
  EXPECT_EQ(shapes, wanted);
  EXPECT_EQ(made.network.classes(), 10);
  EXPECT_EQ(made.network.layer(*made.network.find("header.conv")).out, (Shape3{1504, 4, 4}));
}

TEST(FbnetSpace, CountsTheMultiplicationsOfEachOperator) {
  const NetworkSpace space = fbnet_space(fbnet_size("cifar"));
  const SpaceNetwork all = all_operators(space);
  for (std::size_t b = 0; b < all.blocks.size(); ++b) {
    const Shape3 out = all.network.layer(all.blocks[b].out).out;
    for (const OperatorPlace& place : all.blocks[b].operators) {
      const std::string& name = space.blocks[b].operators[place.op].name;
      if (name == "skip") continue;
      std::int64_t macs = 0;
      for (int i = place.first; i < place.end; ++i) macs += all.network.layer(i).cost().macs;
      const Shape3 in = all.network.input_of(place.first);
      EXPECT_EQ(macs, inverted_macs(in, out, name[1] - '0', name[4] - '0', name.ends_with("_g2") ? 2 : 1))
          << space.blocks[b].name << " " << name;
    }
  }
}

TEST(FbnetSpace, SkipsWithoutALayerWhereTheShapeStays) {
  const NetworkSpace space = fbnet_space(fbnet_size("tiny"));
  const SpaceNetwork made = derive(space, everywhere(space, "skip"));
  EXPECT_EQ(names_between(made.network, 0, static_cast<int>(made.network.layers().size())),
            (std::vector<std::string>{"input", "stem.conv", "stem.bn", "stem.relu", "stage2.block1.skip.conv",
                                      "stage2.block1.skip.bn", "stage2.block1.skip.relu", "header.conv", "header.bn",
                                      "header.relu", "head.pool", "head.linear"}));
  EXPECT_EQ(made.blocks[0].operators[0].first, made.blocks[0].operators[0].end);
  EXPECT_EQ(made.network.layer(made.blocks[0].out).name, "stem.relu");
  EXPECT_EQ(made.network.layer(made.blocks[2].out).name, "stage2.block1.skip.relu");
}

TEST(FbnetSpace, AddsTheInputOnlyWhereTheShapeStays) {
  const NetworkSpace space = fbnet_space(fbnet_size("tiny"));
  const SpaceNetwork made = derive(space, everywhere(space, "k3_e1_g2"));
  EXPECT_TRUE(made.network.find("stage1.block1.k3_e1_g2.add"));
  EXPECT_FALSE(made.network.find("stage2.block1.k3_e1_g2.add"));
  EXPECT_TRUE(made.network.find("stage2.block2.k3_e1_g2.add"));
}

TEST(FbnetSpace, WritesAShuffleBetweenGroupsAsTwoHalves) {
  const NetworkSpace space = fbnet_space(fbnet_size("tiny"));
  const SpaceNetwork made = derive(space, everywhere(space, "k5_e1_g2"));
  const auto text = [&](const std::string& name) {
    return op_text(made.network.layer(*made.network.find("stage2.block1.k5_e1_g2." + name)).op);
  };
  // Each half has half of the channels of both groups, and its projection is one of the two groups.
  for (const std::string half : {"half1.", "half2."}) {
    EXPECT_EQ(text(half + "expand.conv"), "conv 1x1 8->4 groups 2");
    EXPECT_EQ(text(half + "depthwise.conv"), "conv 5x5 /2 4->4 pad 2 groups 4");
    EXPECT_EQ(text(half + "project.conv"), "conv 1x1 4->8");
  }
  EXPECT_EQ(text("concat"), "concat");
}

TEST(FbnetSpace, NamesWhatItDoesNotKnow) {
  EXPECT_EQ(message_of([] { static_cast<void>(fbnet_size("smal")); }),
            "unknown size `smal` of FBNet's space, did you mean `small`?");
  EXPECT_EQ(message_of([] { static_cast<void>(fbnet_space(fbnet_size("tiny"), {"k3_e2"})); }),
            "unknown operator `k3_e2` of FBNet's space, did you mean `k3_e1`, `k3_e3` or `k3_e6`?");
  const NetworkSpace space = fbnet_space(fbnet_size("tiny"), {"k3_e1", "skip"});
  EXPECT_EQ(message_of([&] { static_cast<void>(space.find_operator(1, "skipp")); }),
            "space fbnet-tiny, block stage2.block1: no operator `skipp`, did you mean `skip`?");
}

TEST(AllOperators, HoldEveryTensorOfEveryDerivedNetwork) {
  const NetworkSpace space = fbnet_space(fbnet_size("small"));
  const SpaceNetwork all = all_operators(space);
  std::map<std::string, Op> ops;
  for (const Layer& layer : all.network.layers()) ops.emplace(layer.name, layer.op);
  for (const std::string& name : fbnet_operators()) {
    const SpaceNetwork made = derive(space, everywhere(space, name));
    for (const Layer& layer : made.network.layers()) {
      ASSERT_TRUE(ops.contains(layer.name)) << layer.name;
      EXPECT_EQ(ops.at(layer.name), layer.op) << layer.name;
    }
  }
}

TEST(AllOperators, SaysWhereTheLayersOfEachAre) {
  const NetworkSpace space = fbnet_space(fbnet_size("tiny"), {"skip", "k3_e1"});
  const SpaceNetwork all = all_operators(space);
  const OperatorPlace& place = all.blocks[1].operators[1];
  EXPECT_EQ(place.op, 1U);
  EXPECT_EQ(names_between(all.network, place.first, place.end),
            (std::vector<std::string>{"stage2.block1.k3_e1.expand.conv", "stage2.block1.k3_e1.expand.bn",
                                      "stage2.block1.k3_e1.expand.relu", "stage2.block1.k3_e1.depthwise.conv",
                                      "stage2.block1.k3_e1.depthwise.bn", "stage2.block1.k3_e1.depthwise.relu",
                                      "stage2.block1.k3_e1.project.conv", "stage2.block1.k3_e1.project.bn"}));
  EXPECT_EQ(place.out, place.end - 1);
  EXPECT_EQ(all.network.layer(all.blocks[1].out).name, "stage2.block1.mix");
}

TEST(Derive, RefusesChoicesThatTheSpaceDoesNotHave) {
  const NetworkSpace space = fbnet_space(fbnet_size("tiny"));
  EXPECT_EQ(message_of([&] { static_cast<void>(derive(space, std::vector<std::size_t>{1, 2})); }),
            "space fbnet-tiny: 2 operators, needed is one for each of 3 blocks");
  EXPECT_EQ(message_of([&] { static_cast<void>(derive(space, std::vector<std::size_t>{1, 9, 2})); }),
            "space fbnet-tiny, block stage2.block1: operator 9 of 9, counted from 0");
}

TEST(ResidualSpace, IsTheZoosNetworkWhereNothingElseIsChosen) {
  ResidualSize size{.name = "resnet20", .blocks = 3};
  const NetworkSpace space = residual_space(size);
  EXPECT_EQ(space.blocks.size(), 18U);
  const SpaceNetwork made = derive(space, everywhere(space, "conv3"));
  EXPECT_EQ(made.network.cost(), zoo_network("resnet20").cost());
}

TEST(ResidualSpace, PutsKernelsWhereTheyFit) {
  NetworkSpace space = residual_space({});
  const std::vector<Kernel> kernels{parse_kernel(
      "kernel grouped\ngiven g=4\n  a = stride(x)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\nreturn c\n",
      catalog())};
  EXPECT_EQ(offer_kernels(space, kernels), std::vector<std::size_t>{6});
  const SpaceNetwork made = derive(space, std::vector<std::size_t>{0, 1, 1, 0, 0, 0});
  ASSERT_EQ(made.replaced.size(), 2U);
  EXPECT_EQ(made.network.layer(made.replaced.begin()->first).name, "stage1.block1.conv2.grouped.conv");
  EXPECT_EQ(made.replaced.rbegin()->second.second, (Site{16, 32, 16, 16, 2}));
  EXPECT_EQ(all_operators(space).replaced.size(), 6U);
}

TEST(ResidualSpace, RefusesAKernelThatFitsNowhere) {
  NetworkSpace space = residual_space({});
  const std::vector<Kernel> kernels{parse_kernel(
      "kernel odd\ngiven g=7\n  a = stride(x)\n  b = group(a, by=g)\n  c = linear(b, to=Co)\nreturn c\n", catalog())};
  EXPECT_EQ(message_of([&] { static_cast<void>(offer_kernels(space, kernels)); }),
            "kernel odd fits no block of space residual-resnet8: group: the factor divides the channels (c=Ci by g, in "
            "`b = group(a, by=g)`)");
}

TEST(FbnetSpace, PutsKernelsInAResidualConvolution) {
  NetworkSpace space = fbnet_space(fbnet_size("tiny"), {"k3_e1"});
  const std::vector<Kernel> kernels{
      parse_kernel("kernel plain\n  a = conv(x, to=Co, stride=yes)\nreturn a\n", catalog())};
  EXPECT_EQ(offer_kernels(space, kernels), std::vector<std::size_t>{3});
  const SpaceNetwork made = derive(space, everywhere(space, "plain"));
  EXPECT_EQ(made.replaced.size(), 3U);
  const OperatorPlace& place = made.blocks[0].operators[0];
  EXPECT_EQ(names_between(made.network, place.first, place.end),
            (std::vector<std::string>{"stage1.block1.plain.conv", "stage1.block1.plain.bn", "stage1.block1.plain.relu",
                                      "stage1.block1.plain.add"}));
}

TEST(WeightedLayers, AreThoseOfEveryBlockAndOfTheRest) {
  const NetworkSpace space = fbnet_space(fbnet_size("tiny"), {"k3_e1", "k5_e6"});
  const SpaceNetwork all = all_operators(space);
  const std::vector<WeightedLayer> layers = weighted_layers(all);
  ASSERT_EQ(layers.size(), 3U + 3U * 2U * 3U);
  EXPECT_EQ(all.network.layer(layers.front().layer).name, "stem.conv");
  EXPECT_EQ(layers.front().block, WeightedLayer::outside);
  EXPECT_EQ(all.network.layer(layers[4].layer).name, "stage1.block1.k5_e6.expand.conv");
  EXPECT_EQ(layers[4].block, 0);
  EXPECT_EQ(layers[4].op, 1);
  EXPECT_EQ(all.network.layer(layers.back().layer).name, "head.linear");
  EXPECT_EQ(layers.back().op, WeightedLayer::outside);
}

}  // namespace
}  // namespace kasimir
