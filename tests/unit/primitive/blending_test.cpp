// SPDX-License-Identifier: Apache-2.0
// broadcast, matmul and concat against loops written by hand.
#include "support/application.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using testing::Applied;
using testing::Array;
using testing::expect_array;
using testing::Index;
using testing::shape_from;

const Site site{4, 8, 3, 2, 1};

TEST(Broadcast, CombinesElementByElement) {
  for (const std::string op : {"add", "sub", "mul", "max", "min"}) {
    const Applied blend("broadcast(x, a, op=" + op + ")", {shape_from("c=Ci, h=H, w=W"), shape_from("c=Ci, h=H, w=W")},
                        site, 2);
    const Array a = blend.operand(0);
    const Array b = blend.operand(1);
    expect_array(blend.result(), {2, 4, 3, 2}, [&](const Index& at) {
      const double x = a.read(at);
      const double y = b.read(at);
      if (op == "add") return x + y;
      if (op == "sub") return x - y;
      if (op == "mul") return x * y;
      return op == "max" ? std::max(x, y) : std::min(x, y);
    });
  }
}

TEST(Broadcast, RepeatsTheFirstAlongAxesThatItLacks) {
  const Applied blend("broadcast(x, a, op=sub)", {shape_from("w=W, c=Co"), shape_from("c=Co, h=H, w=W, u=3")}, site, 2);
  const Array a = blend.operand(0);
  const Array b = blend.operand(1);
  expect_array(blend.result(), {2, 8, 3, 2, 3}, [&](const Index& at) { return a(at[0], at[3], at[1]) - b.read(at); });
}

TEST(Broadcast, TilesChannelsThatDivideTheSeconds) {
  const Applied blend("broadcast(x, a, op=sub)", {shape_from("c=Ci, h=H, w=W"), shape_from("h=H, c=Co, w=W")}, site, 2);
  const Array a = blend.operand(0);
  const Array b = blend.operand(1);
  expect_array(blend.result(), {2, 3, 8, 2},
               [&](const Index& at) { return a(at[0], at[2] % 4, at[1], at[3]) - b.read(at); });
}

TEST(Matmul, ContractsChannelsToAMapOverPositions) {
  const Applied product("matmul(x, a, left=channels, right=channels)",
                        {shape_from("c=Ci, h=H, w=W"), shape_from("h=H, c=Ci, w=W")}, site, 2);
  const Array a = product.operand(0);
  const Array b = product.operand(1);
  EXPECT_EQ(str(product.shape()), "[h=H, w=W, t=H*W]");
  expect_array(product.result(), {2, 3, 2, 6}, [&](const Index& at) {
    double sum = 0.0;
    for (int c = 0; c < 4; ++c) sum += a(at[0], c, at[1], at[2]) * b(at[0], at[3] / 2, c, at[3] % 2);
    return sum / 2;
  });
}

TEST(Matmul, ContractsPositionsToAMapOverChannels) {
  const Applied product("matmul(x, a, left=positions, right=positions)",
                        {shape_from("c=Ci, h=H, w=W"), shape_from("c=Co, w=W, h=H")}, site, 2);
  const Array a = product.operand(0);
  const Array b = product.operand(1);
  EXPECT_EQ(str(product.shape()), "[c=Ci, t=Co]");
  expect_array(product.result(), {2, 4, 8}, [&](const Index& at) {
    double sum = 0.0;
    for (int h = 0; h < 3; ++h)
      for (int w = 0; w < 2; ++w) sum += a(at[0], at[1], h, w) * b(at[0], at[2], w, h);
    return sum / std::sqrt(6);
  });
}

/// The second product of attention: the map's own rows must not be mixed up with the rows that are summed over.
TEST(Matmul, AppliesAMapOverPositions) {
  const Applied product("matmul(x, a, left=token, right=positions)",
                        {shape_from("h=H, w=W, t=H*W"), shape_from("c=Co, h=H, w=W")}, site, 2);
  const Array map = product.operand(0);
  const Array values = product.operand(1);
  EXPECT_EQ(str(product.shape()), "[h=H, w=W, c=Co]");
  expect_array(product.result(), {2, 3, 2, 8}, [&](const Index& at) {
    double sum = 0.0;
    for (int h = 0; h < 3; ++h)
      for (int w = 0; w < 2; ++w) sum += map(at[0], at[1], at[2], 2 * h + w) * values(at[0], at[3], h, w);
    return sum / std::sqrt(6);
  });
}

TEST(Matmul, AppliesAMapFromTheRight) {
  const Applied product("matmul(x, a, left=positions, right=token)",
                        {shape_from("c=Co, h=H, w=W"), shape_from("h=H, w=W, t=H*W")}, site, 2);
  const Array values = product.operand(0);
  const Array map = product.operand(1);
  EXPECT_EQ(str(product.shape()), "[c=Co, h=H, w=W]");
  expect_array(product.result(), {2, 8, 3, 2}, [&](const Index& at) {
    double sum = 0.0;
    for (int h = 0; h < 3; ++h)
      for (int w = 0; w < 2; ++w) sum += values(at[0], at[1], h, w) * map(at[0], at[2], at[3], 2 * h + w);
    return sum / std::sqrt(6);
  });
}

TEST(Matmul, AppliesAMapOverChannels) {
  const Applied product("matmul(x, a, left=token, right=channels)",
                        {shape_from("c=Ci, t=Co"), shape_from("g=g, c=Co/g, h=H, w=W")}, site, 2);
  const Array map = product.operand(0);
  const Array values = product.operand(1);
  EXPECT_EQ(str(product.shape()), "[c=Ci, h=H, w=W]");
  expect_array(product.result(), {2, 4, 3, 2}, [&](const Index& at) {
    double sum = 0.0;
    for (int g = 0; g < 2; ++g)
      for (int c = 0; c < 4; ++c) sum += map(at[0], at[1], 4 * g + c) * values(at[0], g, c, at[2], at[3]);
    return sum / std::sqrt(8);
  });
}

TEST(Matmul, EndsWithASoftmaxOverTheSecondOperandsAxes) {
  const Applied product("matmul(x, a, left=channels, right=channels, softmax=yes)",
                        {shape_from("c=Ci, h=H, w=W"), shape_from("c=Ci, h=H, w=W")}, site, 2);
  const Array a = product.operand(0);
  const Array b = product.operand(1);
  const auto logit = [&](std::int64_t n, std::int64_t h, std::int64_t w, std::int64_t t) {
    double sum = 0.0;
    for (int c = 0; c < 4; ++c) sum += a(n, c, h, w) * b(n, c, t / 2, t % 2);
    return sum / 2;
  };
  expect_array(product.result(), {2, 3, 2, 6}, [&](const Index& at) {
    double sum = 0.0;
    for (int t = 0; t < 6; ++t) sum += std::exp(logit(at[0], at[1], at[2], t));
    return std::exp(logit(at[0], at[1], at[2], at[3])) / sum;
  });
}

/// The whole of self-attention in the library's own text, with queries, keys and values taken apart by hand.
TEST(Matmul, TwiceIsAttentionOverPositions) {
  const Site small{4, 4, 2, 3, 1};
  const Kernel kernel = parse_kernel(
      "kernel attention\n  a = neg(x)\n  b = matmul(x, a, left=channels, right=channels, softmax=yes)\n"
      "  c = matmul(b, x, left=token, right=positions)\nreturn c\n",
      catalog());
  const BoundGraph graph = lower_at(kernel, small, 2).value();
  Rng rng(5);
  TensorValues<double> values = random_values(graph, rng);
  const Array x({2, 4, 2, 3}, values[0]);
  RealDomain domain;
  evaluate(graph, domain, values);
  const auto logit = [&](std::int64_t n, std::int64_t i, std::int64_t j) {
    double sum = 0.0;
    for (int c = 0; c < 4; ++c) sum += x(n, c, i / 3, i % 3) * -x(n, c, j / 3, j % 3);
    return std::exp(sum / 2);
  };
  expect_array({{2, 4, 2, 3}, values[static_cast<std::size_t>(graph.output)]}, {2, 4, 2, 3}, [&](const Index& at) {
    const std::int64_t i = 3 * at[2] + at[3];
    double total = 0.0;
    double sum = 0.0;
    for (int j = 0; j < 6; ++j) {
      total += logit(at[0], i, j);
      sum += logit(at[0], i, j) * x(at[0], at[1], j / 3, j % 3);
    }
    return sum / total / std::sqrt(6);
  });
}

TEST(Concat, PutsTheSecondBehindTheFirst) {
  const Applied concat("concat(x, a)", {shape_from("c=Ci, h=H, w=W"), shape_from("w=W, c=3*Ci, h=H")}, site, 2);
  const Array a = concat.operand(0);
  const Array b = concat.operand(1);
  EXPECT_EQ(str(concat.shape()), "[c=4*Ci, h=H, w=W]");
  expect_array(concat.result(), {2, 16, 3, 2},
               [&](const Index& at) { return at[1] < 4 ? a.read(at) : b(at[0], at[3], at[1] - 4, at[2]); });
}

}  // namespace
}  // namespace kasimir
