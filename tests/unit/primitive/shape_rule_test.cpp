// SPDX-License-Identifier: Apache-2.0
// Each shape rule, with the text that explains it.
#include "support/application.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

using testing::Application;
using testing::shape_from;

struct Broken {
  const char* step;
  std::vector<const char*> operands;
  const char* reason;
};

void PrintTo(const Broken& broken, std::ostream* out) { *out << broken.step; }

constexpr const char* image = "c=Ci, h=s*H, w=s*W";
constexpr const char* grouped = "g=g, c=Ci/g, h=H, w=W";
constexpr const char* windows = "c=Ci, h=H, w=W, u=3, v=3";

const Broken broken[] = {
    {"group(x, by=g)", {"h=H, w=W"}, "the operand has a channel axis ([h=H, w=W])"},
    {"group(x, by=g)", {grouped}, "the operand has no group axis yet ([g=g, c=Ci/g, h=H, w=W])"},
    {"group(x, by=1)", {image}, "group: the factor is above 1 (1)"},
    {"group(x, by=5)", {image}, "group: the factor divides the channels (c=Ci by 5)"},
    {"merge(x)", {image}, "the operand has a group axis ([c=Ci, h=H*s, w=W*s])"},
    {"merge(x)", {"g=g, h=H"}, "the operand has a channel axis ([g=g, h=H])"},
    {"transpose(x)", {image}, "the operand has a group axis ([c=Ci, h=H*s, w=W*s])"},
    {"transpose(x)", {"g=g, h=H"}, "the operand has a channel axis ([g=g, h=H])"},
    {"shuffle(x, by=g)", {"h=H"}, "the operand has a channel axis ([h=H])"},
    {"shuffle(x, by=Ci)", {image}, "shuffle: the factor is neither 1 nor the channels (Ci)"},
    {"shuffle(x, by=3)", {image}, "shuffle: the factor divides the channels (c=Ci by 3)"},
    {"shuffle(x, by=1/2)", {image}, "shuffle: the factor divides the channels (c=Ci by 1/2)"},
    {"shift(x, axes=(c,h,w), by=1)", {image}, "shift: one or two axes (3 axes)"},
    {"shift(x, axes=h, by=(1,2))", {image}, "shift: at most one offset per axis (2 for 1)"},
    {"shift(x, axes=g, by=1)", {image}, "the operand has a group axis ([c=Ci, h=H*s, w=W*s])"},
    {"shift(x, axes=(h,w), by=(1,0))", {image}, "shift: no offset is 0"},
    {"shift(x, axes=h, by=-6)", {image}, "shift: a zero-filled shift is shorter than the axis (h=H*s by -6)"},
    {"shift(x, axes=c, by=1)", {"c=x0"}, "shift: a zero-filled shift is along an axis of known extent (c=x0)"},
    {"unfold(x, window=(3,5))", {image}, "unfold: window and dilation are one number each"},
    {"unfold(x, dilation=(1,2))", {image}, "unfold: window and dilation are one number each"},
    {"unfold(x, window=1)", {image}, "unfold: the window is odd and at least 3 (1)"},
    {"unfold(x, window=4)", {image}, "unfold: the window is odd and at least 3 (4)"},
    {"unfold(x, dilation=0)", {image}, "unfold: the dilation is at least 1 (0)"},
    {"unfold(x, axes=c)", {image}, "unfold: along height and width only (channel)"},
    {"unfold(x)", {"c=Ci, w=W"}, "the operand has a height axis ([c=Ci, w=W])"},
    {"unfold(x)", {windows}, "unfold: the operand has no window along that axis yet ([c=Ci, h=H, w=W, u=3, v=3])"},
    {"stride(x)", {"c=Ci, h=H, w=W"}, "the operand still has the site's stride ([c=Ci, h=H, w=W])"},
    {"pool(x)", {"c=Ci, h=H, w=W"}, "the operand still has the site's stride ([c=Ci, h=H, w=W])"},
    {"linear(x, to=Co)", {"g=g, h=H"}, "linear: the operand has a channel or window axis ([g=g, h=H])"},
    {"linear(x, to=3)", {grouped}, "linear: the groups divide the new channels (to=3 with g=g)"},
    {"conv(x, to=Co)", {"h=H, w=W"}, "the operand has a channel axis ([h=H, w=W])"},
    {"conv(x, to=Co)", {windows}, "conv: the operand has no window axes ([c=Ci, h=H, w=W, u=3, v=3])"},
    {"conv(x, to=Co, groups=g)",
     {grouped},
     "conv: groups come from the group axis or from the parameter, not both ([g=g, c=Ci/g, h=H, w=W])"},
    {"conv(x, to=Co, groups=1/2)", {image}, "conv: the number of groups is whole (1/2)"},
    {"conv(x, to=Co, groups=3)", {image}, "conv: the groups divide the channels (c=Ci in 3 groups)"},
    {"conv(x, to=2, groups=4)", {image}, "conv: the groups divide the new channels (to=2 in 4 groups)"},
    {"conv(x, to=Co, window=2)", {image}, "conv: windows are odd, dilations at least 1 (2)"},
    {"conv(x, to=Co, dilation=0)", {image}, "conv: windows are odd, dilations at least 1 (3)"},
    {"conv(x, to=Co)", {"c=Ci, h=H"}, "the operand has a width axis ([c=Ci, h=H])"},
    {"conv(x, to=Co, window=1)", {image}, "conv: some window is above 1 (else use linear)"},
    {"conv(x, to=Co, stride=yes)", {"c=Ci, h=H, w=W"}, "the operand still has the site's stride ([c=Ci, h=H, w=W])"},
    {"mix(x, over=u, to=(u=3))", {image}, "the operand has a window height axis ([c=Ci, h=H*s, w=W*s])"},
    {"mix(x, over=c, to=(h=3))", {image}, "mix: a result has one axis of a kind ([c=Ci, h=H*s, w=W*s] to [h=3])"},
    {"mix(x, over=c, to=(c=2,c=3))", {image}, "a tensor has one axis of a kind ([c=2, c=3, h=H*s, w=W*s])"},
    {"scale(x, axes=t)", {image}, "the operand has a token axis ([c=Ci, h=H*s, w=W*s])"},
    {"norm(x)", {"h=H, w=W"}, "the operand has a channel axis ([h=H, w=W])"},
    {"fold(x, axes=u)", {image}, "the operand has a window height axis ([c=Ci, h=H*s, w=W*s])"},
    {"fold(x, axes=(c,h))", {"h=H, c=Ci"}, "fold: some axis is left ([h=H, c=Ci])"},
    {"softmax(x, axes=v)", {image}, "the operand has a window width axis ([c=Ci, h=H*s, w=W*s])"},
    {"broadcast(x, a)",
     {"c=Ci, u=3", image},
     "broadcast: the second operand has every axis of the first ([c=Ci, u=3] against [c=Ci, h=H*s, w=W*s])"},
    {"broadcast(x, a)",
     {"c=Co", "c=Ci"},
     "broadcast: extents are equal, or the first's channels divide the second's (c=Co against Ci)"},
    {"broadcast(x, a)",
     {"h=1", "h=H"},
     "broadcast: extents are equal, or the first's channels divide the second's (h=1 against H)"},
    {"concat(x, a)", {"c=Ci, h=H", "h=H"}, "concat: both operands have channels ([c=Ci, h=H] with [h=H])"},
    {"concat(x, a)", {"c=Ci, h=H", "c=Ci"}, "concat: the operands have the same axes ([c=Ci, h=H] with [c=Ci])"},
    {"concat(x, a)",
     {"c=Ci, h=H", "c=Ci, w=W"},
     "concat: the operands have the same axes ([c=Ci, h=H] with [c=Ci, w=W])"},
    {"concat(x, a)", {"c=Ci", "c=Co"}, "concat: the channels have a numeric ratio ([c=Ci] with [c=Co])"},
    {"concat(x, a)",
     {"c=Ci, h=H", "c=Ci, h=1"},
     "concat: all extents but the channels are equal ([c=Ci, h=H] with [c=Ci, h=1])"},
    {"matmul(x, a, left=token, right=channels)",
     {"c=Ci", "c=Ci"},
     "matmul: each operand has axes on the contracted side ([c=Ci] with [c=Ci])"},
    {"matmul(x, a, left=channels, right=channels)",
     {"c=Ci, h=H", "c=Co, h=H"},
     "matmul: the contracted sides are equal ([c=Ci, h=H] with [c=Co, h=H])"},
    {"matmul(x, a, left=channels, right=channels)",
     {"c=Ci, h=H, t=3", "c=Ci, h=H"},
     "matmul: the result has one token axis ([c=Ci, h=H, t=3] with [c=Ci, h=H])"},
    {"matmul(x, a, left=channels, right=channels)", {"c=Ci", "c=Ci"}, "matmul: some axis is left ([c=Ci] with [c=Ci])"},
    {"matmul(x, a, left=channels, right=channels, softmax=yes)",
     {"c=Ci, h=H", "c=Ci"},
     "matmul: a softmax needs an axis of the second operand ([c=Ci, h=H] with [c=Ci])"},
};

class ShapeRule : public ::testing::TestWithParam<Broken> {};

TEST_P(ShapeRule, RejectsWithItsReason) {
  const Broken& b = GetParam();
  std::vector<Shape> operands;
  for (const char* text : b.operands) operands.push_back(shape_from(text));
  const SiteSet sites({{4, 8, 3, 5, 2}}, testing::test_choices());
  const auto shape = Application::parse(b.step, std::move(operands)).shape(sites);
  ASSERT_FALSE(shape.ok()) << str(*shape);
  EXPECT_EQ(shape.rejection().str(), b.reason);
}

INSTANTIATE_TEST_SUITE_P(Catalog, ShapeRule, ::testing::ValuesIn(broken));

/// Channels that differ by a number at every site, if not by name.
TEST(ShapeRules, ConcatKnowsNumericRatiosOfTheSites) {
  const auto joined = [&](const char* a, const char* b, std::vector<Site> sites) {
    const Application concat = Application::parse("concat(x, a)", {shape_from(a), shape_from(b)});
    const auto shape = concat.primitive->shape(concat.call(SiteSet(std::move(sites), testing::test_choices())));
    return shape.ok() ? str(*shape) : shape.rejection().str();
  };
  const std::vector<Site> equal{{4, 4, 3, 3, 1}, {8, 8, 2, 2, 1}};
  EXPECT_EQ(joined("c=Ci", "c=Co", equal), "[c=2*Ci]");
  EXPECT_EQ(joined("c=Co", "c=3*Ci", equal), "[c=4*Co]");
  EXPECT_EQ(joined("c=Ci", "c=Co", {{4, 4, 3, 3, 1}, {4, 8, 2, 2, 1}}),
            "concat: the channels have a numeric ratio ([c=Ci] with [c=Co])");
  const std::int64_t g = testing::test_choices()[Symbol::g];
  EXPECT_EQ(joined("c=Ci", "c=Ci*g", equal), fmt::format("[c={}*Ci]", g + 1));
}

/// Sizes are compared at every site: what holds at one only is no match.
TEST(ShapeRules, HoldAtEverySite) {
  const Application blend = Application::parse("broadcast(x, a)", {shape_from("c=Ci"), shape_from("c=Co")});
  const auto legal = [&](std::vector<Site> sites) {
    return blend.primitive->shape(blend.call(SiteSet(std::move(sites), {}))).ok();
  };
  EXPECT_TRUE(legal({{4, 4, 3, 3, 1}}));
  EXPECT_TRUE(legal({{4, 4, 3, 3, 1}, {4, 8, 3, 3, 1}}));
  EXPECT_FALSE(legal({{4, 4, 3, 3, 1}, {4, 6, 3, 3, 1}}));
}

TEST(Broadcast, OfEqualNumbersWithDifferentNamesIsNotTiled) {
  const testing::Applied blend("broadcast(x, a)", {shape_from("c=Ci"), shape_from("c=Co")}, {4, 4, 1, 1, 1}, 1);
  EXPECT_EQ(str(blend.shape()), "[c=Co]");
  EXPECT_EQ(blend.graph().stages.front().left[1].digits.size(), 1U);
}

}  // namespace
}  // namespace kasimir
