// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/cost.h"

#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

Cost cost_of(const std::string& text) {
  const Kernel kernel = parse_kernel("kernel k\n" + text, catalog());
  return cost(lower(kernel, SiteSet({{8, 8, 4, 4, 1}}, kernel.choices)).value());
}

TEST(Cost, OfAConvolutionIsTheTextbooks) {
  const Cost c = cost_of("  a = conv(x, to=Co, stride=yes)\nreturn a\n");
  EXPECT_EQ(c.macs.str(), "9*Ci*Co*H*W");
  EXPECT_EQ(c.params.str(), "9*Ci*Co");
  EXPECT_EQ(c.ops.str(), "18*Ci*Co*H*W");
  EXPECT_EQ(c.elements.str(), "Co*H*W");
}

TEST(Cost, OfGroupsIsDividedByThem) {
  const Cost c = cost_of("given g=4\n  a = conv(x, to=Co, groups=g, stride=yes)\nreturn a\n");
  EXPECT_EQ(c.macs.str(), "9*Ci*Co*H*W/g");
  EXPECT_EQ(c.params.str(), "9*Ci*Co/g");
}

TEST(Cost, CountsWorkBeforeTheStrideInFull) {
  const Cost c = cost_of("  a = conv(x, to=Co)\n  b = stride(a)\nreturn b\n");
  EXPECT_EQ(c.macs.str(), "9*Ci*Co*H*W*s^2");
  EXPECT_EQ(c.elements.str(), "Co*H*W*s^2 + Co*H*W");
}

TEST(Cost, OfMovingIsNothingButMemory) {
  const Cost c = cost_of(
      "given g=4\n  a = stride(x)\n  b = shuffle(a, by=g)\n  c = shift(b, axes=h, by=1)\n"
      "  d = linear(c, to=Co)\nreturn d\n");
  EXPECT_EQ(c.macs.str(), "Ci*Co*H*W");
  EXPECT_EQ(c.ops.str(), "2*Ci*Co*H*W");
  EXPECT_EQ(c.elements.str(), "3*Ci*H*W + Co*H*W");
}

/// Ci = Co at the site: the copy gives the result the output's names.
TEST(Cost, LeavesOutTheCopyThatPutsTheAxesInOrder) {
  const Kernel kernel = parse_kernel("kernel k\n  a = stride(x)\n  b = relu(a)\nreturn b\n", catalog());
  const Graph graph = lower(kernel, SiteSet({{8, 8, 4, 4, 1}}, kernel.choices)).value();
  ASSERT_EQ(graph.stages.back().step, -1);
  EXPECT_EQ(cost(graph).elements.str(), "2*Ci*H*W");
}

TEST(Cost, OfAttentionIsQuadraticInThePositions) {
  const Cost c = cost_of(
      "  a = stride(x)\n  b = matmul(a, a, left=channels, right=channels, softmax=yes)\n"
      "  c = matmul(b, a, left=token, right=positions)\nreturn c\n");
  EXPECT_EQ(c.macs.str(), "2*Ci*H^2*W^2");
  EXPECT_TRUE(c.params.is_zero());
}

TEST(Cost, OfANormIsNoMac) {
  const Cost c = cost_of("  a = stride(x)\n  b = norm(a)\n  c = linear(b, to=Co)\nreturn c\n");
  EXPECT_EQ(c.macs.str(), "Ci*Co*H*W");
  EXPECT_EQ(c.params.str(), "Ci*Co + 2*Ci");
}

TEST(Cost, OfAPointwiseProductIsNoMac) {
  const Cost c = cost_of("  a = stride(x)\n  b = square(a)\n  c = linear(b, to=Co)\nreturn c\n");
  EXPECT_EQ(c.macs.str(), "Ci*Co*H*W");
  EXPECT_EQ(c.ops.str(), "2*Ci*Co*H*W + Ci*H*W");
}

}  // namespace
}  // namespace kasimir
