// SPDX-License-Identifier: Apache-2.0
// Primitives that only move values, and pools, against loops written by hand.
#include "support/application.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kasimir {
namespace {

using testing::Applied;
using testing::Array;
using testing::expect_array;
using testing::Index;
using testing::shape_from;

const Site site{6, 4, 3, 5, 1};
const Site strided{4, 6, 2, 3, 2};

TEST(Group, CutsTheChannelsIntoRunsOfNeighbours) {
  const Applied group("group(x, by=g)", {input_shape()}, site, 2);
  const Array x = group.operand();
  EXPECT_EQ(str(group.shape()), "[g=g, c=Ci/g, h=H*s, w=W*s]");
  expect_array(group.result(), {2, 2, 3, 3, 5},
               [&](const Index& at) { return x(at[0], at[1] * 3 + at[2], at[3], at[4]); });
}

TEST(Group, ByTheChannelsThemselvesLeavesOneChannel) {
  const Applied group("group(x, by=Ci)", {input_shape()}, site, 1);
  const Array x = group.operand();
  expect_array(group.result(), {1, 6, 1, 3, 5}, [&](const Index& at) { return x(at[0], at[1], at[3], at[4]); });
}

TEST(Merge, IsTheInverseOfGroup) {
  const Applied merge("merge(x)", {shape_from("g=g, c=Ci/g, h=H, w=W")}, site, 2);
  const Array x = merge.operand();
  expect_array(merge.result(), {2, 6, 3, 5},
               [&](const Index& at) { return x(at[0], at[1] / 3, at[1] % 3, at[2], at[3]); });
}

TEST(Merge, PutsTheChannelsWhereTheyWere) {
  const Applied merge("merge(x)", {shape_from("h=H, c=Ci/g, w=W, g=g")}, site, 1);
  const Array x = merge.operand();
  EXPECT_EQ(str(merge.shape()), "[h=H, c=Ci, w=W]");
  expect_array(merge.result(), {1, 3, 6, 5},
               [&](const Index& at) { return x(at[0], at[1], at[2] % 3, at[3], at[2] / 3); });
}

TEST(Transpose, ExchangesGroupAndChannel) {
  const Applied transpose("transpose(x)", {shape_from("g=g, c=Ci/g, h=H, w=W")}, site, 2);
  const Array x = transpose.operand();
  EXPECT_EQ(str(transpose.shape()), "[g=Ci/g, c=g, h=H, w=W]");
  expect_array(transpose.result(), {2, 3, 2, 3, 5},
               [&](const Index& at) { return x(at[0], at[2], at[1], at[3], at[4]); });
}

TEST(Shuffle, InterleavesTheGroups) {
  const Applied shuffle("shuffle(x, by=g)", {input_shape()}, site, 2);
  const Array x = shuffle.operand();
  // Channels 0 1 2 3 4 5 in two groups become 0 3 1 4 2 5.
  expect_array(shuffle.result(), {2, 6, 3, 5}, [&](const Index& at) {
    constexpr int from[] = {0, 3, 1, 4, 2, 5};
    return x(at[0], from[at[1]], at[2], at[3]);
  });
}

TEST(Shift, FillsWithZero) {
  const Applied shift("shift(x, axes=(h,w), by=(2,-1))", {input_shape()}, site, 2);
  const Array x = shift.operand();
  expect_array(shift.result(), {2, 6, 3, 5}, [&](const Index& at) { return x(at[0], at[1], at[2] - 2, at[3] + 1); });
}

TEST(Shift, WrapsAround) {
  const Applied shift("shift(x, axes=(h,w), by=(2,-1), fill=wrap)", {input_shape()}, site, 2);
  const Array x = shift.operand();
  expect_array(shift.result(), {2, 6, 3, 5},
               [&](const Index& at) { return x(at[0], at[1], (at[2] + 1) % 3, (at[3] + 1) % 5); });
}

TEST(Shift, WrapsByMoreThanTheAxis) {
  const Applied shift("shift(x, axes=h, by=-5, fill=wrap)", {input_shape()}, site, 1);
  const Array x = shift.operand();
  expect_array(shift.result(), {1, 6, 3, 5}, [&](const Index& at) { return x(at[0], at[1], (at[2] + 5) % 3, at[3]); });
}

TEST(Shift, UsesOneOffsetForBothAxes) {
  const Applied shift("shift(x, axes=(c,w), by=1)", {input_shape()}, site, 1);
  const Array x = shift.operand();
  expect_array(shift.result(), {1, 6, 3, 5}, [&](const Index& at) { return x(at[0], at[1] - 1, at[2], at[3] - 1); });
}

TEST(Stride, KeepsEverySthRowAndColumn) {
  const Applied stride("stride(x)", {input_shape()}, strided, 2);
  const Array x = stride.operand();
  EXPECT_EQ(str(stride.shape()), "[c=Ci, h=H, w=W]");
  expect_array(stride.result(), {2, 4, 2, 3}, [&](const Index& at) { return x(at[0], at[1], 2 * at[2], 2 * at[3]); });
}

TEST(Stride, LeavesAnAxisThatHasNoStrideAnyMore) {
  const Applied stride("stride(x)", {shape_from("c=Ci, h=H, w=s*W")}, strided, 1);
  const Array x = stride.operand();
  expect_array(stride.result(), {1, 4, 2, 3}, [&](const Index& at) { return x(at[0], at[1], at[2], 2 * at[3]); });
}

TEST(Pool, IsTheMeanOfSquares) {
  const Applied pool("pool(x)", {input_shape()}, strided, 2);
  const Array x = pool.operand();
  expect_array(pool.result(), {2, 4, 2, 3}, [&](const Index& at) {
    double sum = 0.0;
    for (int u = 0; u < 2; ++u)
      for (int v = 0; v < 2; ++v) sum += x(at[0], at[1], 2 * at[2] + u, 2 * at[3] + v);
    return sum / 4;
  });
}

TEST(Pool, IsTheMaximumOfSquares) {
  const Site three{2, 2, 2, 1, 3};
  const Applied pool("pool(x, by=max)", {input_shape()}, three, 2);
  const Array x = pool.operand();
  expect_array(pool.result(), {2, 2, 2, 1}, [&](const Index& at) {
    double most = -INFINITY;
    for (int u = 0; u < 3; ++u)
      for (int v = 0; v < 3; ++v) most = std::max(most, x(at[0], at[1], 3 * at[2] + u, 3 * at[3] + v));
    return most;
  });
}

/// Where the network's own map is odd, a site's missing last row and column are zeros: the network pads them.
TEST(Pool, CountsAMissingLastRowAsZerosInMeanAndMaximum) {
  const Site odd{1, 1, 2, 2, 2};
  const auto pooled = [&](const std::string& text) {
    const testing::Application pool = testing::Application::parse(text, {input_shape()});
    const SiteSet sites({odd}, testing::test_choices());
    const BoundGraph graph = bind(pool.meaning(sites), testing::binding_at(odd, 1)).value();
    // A 3 x 3 map in the 4 x 4 input.
    TensorValues<double> values{{-1, -2, -3, 0, -4, -5, -6, 0, -7, -8, -9, 0, 0, 0, 0, 0}};
    RealDomain domain;
    evaluate(graph, domain, values);
    return values.back();
  };
  EXPECT_EQ(pooled("pool(x)"), (std::vector<double>{-3, -2.25, -3.75, -2.25}));
  EXPECT_EQ(pooled("pool(x, by=max)"), (std::vector<double>{-1, 0, 0, 0}));
}

}  // namespace
}  // namespace kasimir
