// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/sites.h"

#include "kasimir/network/zoo.h"
#include "unit/network/message.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

using testing::ElementsAre;

std::vector<std::string> replaced_names(const Network& net, const SiteFilter& filter) {
  std::vector<std::string> names;
  for (const SiteRef& ref : find_sites(net, filter)) names.push_back(ref.name);
  return names;
}

std::string refusal(const Network& net, const SiteFilter& filter) {
  return message_of([&] { (void)find_sites(net, filter); });
}

/// A network with one convolution `conv` on an image of 16x9x9.
Network with_conv(const layer::Conv& conv) {
  NetworkBuilder net("one", {16, 9, 9});
  net.add("linear", layer::Linear{.out = 2}, {net.add("conv", conv, {0})});
  return std::move(net).finish();
}

TEST(Sites, FindsThoseOfResnet18) {
  std::vector<std::string> found;
  for (const DistinctSite& site : distinct_sites(find_sites(zoo_network("resnet18"))))
    found.push_back(std::to_string(site.count) + " of " + site.site.str());
  EXPECT_THAT(found, ElementsAre("4 of Ci=64 Co=64 H=56 W=56 s=1", "1 of Ci=64 Co=128 H=28 W=28 s=2",
                                 "3 of Ci=128 Co=128 H=28 W=28 s=1", "1 of Ci=128 Co=256 H=14 W=14 s=2",
                                 "3 of Ci=256 Co=256 H=14 W=14 s=1", "1 of Ci=256 Co=512 H=7 W=7 s=2",
                                 "3 of Ci=512 Co=512 H=7 W=7 s=1"));
}

TEST(Sites, CarryNameLayerAndCostOfTheOriginal) {
  const Network net = zoo_network("resnet18");
  const SiteRef first = find_sites(net).front();
  EXPECT_EQ(first.name, "stage1.block1.conv1");
  EXPECT_EQ(net.layer(first.layer).name, first.name);
  EXPECT_EQ(first.cost, (LayerCost{64LL * 64 * 9 * 56 * 56, 64LL * 64 * 9}));
}

TEST(Sites, MergeInOrderOfFirstAppearanceAndAddTheirCosts) {
  const Site a{8, 8, 4, 4, 1};
  const Site b{8, 16, 2, 2, 2};
  const std::vector<SiteRef> refs = {{1, "x", b, {10, 1}}, {2, "y", a, {20, 2}}, {3, "z", b, {30, 3}}};
  EXPECT_THAT(distinct_sites(refs), ElementsAre(DistinctSite{b, 2, {40, 4}}, DistinctSite{a, 1, {20, 2}}));
  EXPECT_TRUE(distinct_sites({}).empty());
}

TEST(Sites, LeaveStemAndPointwiseConvolutionsByDefault) {
  const Selection selection = select_sites(zoo_network("resnet8"));
  std::vector<std::string> kept;
  for (const KeptConv& conv : selection.kept) kept.push_back(conv.name + ": " + conv.reason);
  EXPECT_THAT(kept, ElementsAre("stem.conv: it reads 3 channels, fewer than 8",
                                "stage2.block1.shortcut.conv: its window is 1x1",
                                "stage3.block1.shortcut.conv: its window is 1x1"));
  const Network grey = zoo_network("resnet8", {.classes = 10, .input = {1, 28, 28}});
  EXPECT_EQ(select_sites(grey).kept.front().reason, "it reads 1 channel, fewer than 8");
}

TEST(Sites, ReplaceStridedSitesOfOddSizesWithTheOutputRoundedUp) {
  const Network net = zoo_network("resnet8", {.classes = 10, .input = {3, 37, 51}});
  const Site strided = find_sites(net, {.replace = {"stage2.block1.conv1"}}).front().site;
  EXPECT_EQ(strided, (Site{16, 32, 19, 26, 2}));
}

TEST(Sites, IncludeDepthwiseConvolutions) {
  const Network net = zoo_network("mobilenet_v2");
  const std::vector<SiteRef> sites = find_sites(net);
  EXPECT_EQ(sites.size(), 17U);
  EXPECT_EQ(sites[1].name, "stage2.block1.depthwise.conv");
  EXPECT_EQ(sites[1].site, (Site{96, 96, 56, 56, 2}));
  EXPECT_EQ(sites[1].cost.macs, 96 * 9 * 56 * 56);
}

TEST(Sites, AcceptAnyWindowGroupsAndDilationThatKeepTheRule) {
  const auto site = [](const layer::Conv& conv) { return site_of(with_conv(conv), 1); };
  const Site same{16, 32, 9, 9, 1};
  EXPECT_EQ(*site({.out = 32, .kernel_h = 1, .kernel_w = 7, .pad_w = 3}), same);
  EXPECT_EQ(*site({.out = 32, .kernel_h = 3, .kernel_w = 3, .pad_h = 2, .pad_w = 2, .dilation = 2}), same);
  EXPECT_EQ(*site({.out = 32, .kernel_h = 5, .kernel_w = 5, .pad_h = 2, .pad_w = 2, .groups = 4}), same);
  EXPECT_EQ(*site({.out = 32, .kernel_h = 3, .kernel_w = 3, .stride = 3}), (Site{16, 32, 3, 3, 3}));
  EXPECT_EQ(*site({.out = 32, .kernel_h = 3, .kernel_w = 3, .stride = 2, .pad_h = 1, .pad_w = 1}),
            (Site{16, 32, 5, 5, 2}));
}

TEST(Sites, RejectWhatAKernelCannotStandFor) {
  const Network net = with_conv({.out = 32, .kernel_h = 3, .kernel_w = 3, .pad_w = 1});
  EXPECT_EQ(site_of(net, 1).rejection().str(),
            "the output is the input divided by the stride, rounded up (7x9 from 9x9 at stride 1)");
  EXPECT_EQ(site_of(net, 2).rejection().str(), "the layer is a convolution (it is `linear 2016->2 bias`)");
}

TEST(SiteFilter, ReplacesExactlyWhatIsAskedFor) {
  const Network net = zoo_network("resnet8");
  EXPECT_THAT(replaced_names(net, {.replace = {"*.shortcut.conv", "stem.conv"}}),
              ElementsAre("stem.conv", "stage2.block1.shortcut.conv", "stage3.block1.shortcut.conv"));
  EXPECT_THAT(replaced_names(net, {.replace = {"stage?.block1.conv1"}}),
              ElementsAre("stage1.block1.conv1", "stage2.block1.conv1", "stage3.block1.conv1"));
}

TEST(SiteFilter, KeepsWhatIsAskedForWithItsPatternAsReason) {
  const Network net = zoo_network("resnet8");
  EXPECT_THAT(replaced_names(net, {.keep = {"stage1.*", "*.conv1"}}),
              ElementsAre("stage2.block1.conv2", "stage3.block1.conv2"));
  EXPECT_THAT(replaced_names(net, {.replace = {"stage1.*"}, .keep = {"*.conv1"}}), ElementsAre("stage1.block1.conv2"));
  std::vector<std::string> reasons;
  for (const KeptConv& conv : select_sites(net, {.replace = {"stage1.*"}, .keep = {"*.conv1"}}).kept)
    if (conv.name.ends_with("conv1") || conv.name == "stem.conv") reasons.push_back(conv.reason);
  EXPECT_THAT(reasons, ElementsAre("no pattern asks to replace it", "kept by `*.conv1`", "kept by `*.conv1`",
                                   "kept by `*.conv1`"));
}

TEST(SiteFilter, NamesAPatternThatMatchesNothing) {
  const Network net = zoo_network("resnet8");
  EXPECT_EQ(refusal(net, {.replace = {"stage1.block1.conv3"}}),
            "replace pattern `stage1.block1.conv3` matches no convolution of `resnet8`\n"
            "  it has 9 convolutions; near names are `stage1.block1.conv1`, `stage1.block1.conv2`, "
            "`stage2.block1.conv1`");
  EXPECT_EQ(refusal(net, {.keep = {"stage2"}}),
            "keep pattern `stage2` matches no convolution of `resnet8`\n"
            "  it has 9 convolutions; `stage2.*` matches 3 of them");
  EXPECT_EQ(refusal(net, {.replace = {"*", "zzz"}}),
            "replace pattern `zzz` matches no convolution of `resnet8`\n"
            "  it has 9 convolutions; for instance `stem.conv`, `stage1.block1.conv1`, `stage1.block1.conv2`");
}

TEST(SiteFilter, SaysThatAPatternMatchesLayersOfAnotherKind) {
  EXPECT_EQ(refusal(zoo_network("resnet8"), {.replace = {"*.bn1"}}),
            "replace pattern `*.bn1` matches no convolution of `resnet8`\n"
            "  `stage1.block1.bn1` is a layer `batchnorm`\n"
            "  it has 9 convolutions; for instance `stem.conv`, `stage1.block1.conv1`, `stage1.block1.conv2`");
}

TEST(SiteFilter, SaysWhyAPatternCannotBeFollowed) {
  EXPECT_EQ(refusal(with_conv({.out = 32, .kernel_h = 3, .kernel_w = 3}), {.replace = {"conv"}}),
            "replace pattern `conv` matches no convolution of `one` that can be replaced\n"
            "  `conv`: the output is the input divided by the stride, rounded up (7x7 from 9x9 at stride 1)");
}

TEST(SiteFilter, SaysThatNothingIsReplacedAndWhatToTry) {
  const Network net = zoo_network("resnet8");
  const std::string stay =
      "nothing is replaced in `resnet8`\n"
      "  `stem.conv` stays: kept by `*`\n"
      "  `stage1.block1.conv1` stays: kept by `*`\n"
      "  `stage1.block1.conv2` stays: kept by `*`\n"
      "  and 6 more\n";
  EXPECT_EQ(refusal(net, {.keep = {"*"}}),
            stay + "  with replace pattern `*` and no keep pattern, 9 would be replaced");
  EXPECT_EQ(refusal(with_conv({.out = 32}), {}),
            "nothing is replaced in `one`\n"
            "  `conv` stays: its window is 1x1\n"
            "  with replace pattern `*`, 1 would be replaced");
  EXPECT_EQ(
      refusal(with_conv({.out = 32, .kernel_h = 3, .kernel_w = 3}), {}),
      "nothing is replaced in `one`\n"
      "  `conv` stays: it cannot be replaced: the output is the input divided by the stride, rounded up (7x7 from "
      "9x9 at stride 1)");
}

TEST(SiteFilter, SaysThatANetworkHasNoConvolution) {
  NetworkBuilder builder("flat", {3, 8, 8});
  builder.add("linear", layer::Linear{.out = 2}, {0});
  const Network net = std::move(builder).finish();
  EXPECT_EQ(refusal(net, {}), "nothing is replaced in `flat`\n  it has no convolution");
  EXPECT_EQ(refusal(net, {.replace = {"conv"}}),
            "replace pattern `conv` matches no convolution of `flat`\n  it has no convolution");
}

}  // namespace
}  // namespace kasimir
