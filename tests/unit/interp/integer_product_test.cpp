// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/integer_product.h"

#include "kasimir/base/rng.h"
#include "kasimir/interp/real.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

/// A sum of products: result digits and reduced iterators by extent, the coordinates of both reads.
struct Product {
  std::vector<std::int64_t> left;
  std::vector<std::int64_t> reduced;
  std::vector<BoundCoord> activation;
  std::vector<std::int64_t> activation_extents;
  std::vector<BoundCoord> weight;
  std::vector<std::int64_t> weight_extents;
};

BoundTensor tensor(Role role, const std::vector<std::int64_t>& extents) {
  BoundTensor made;
  made.role = role;
  for (const std::int64_t extent : extents) made.axes.push_back({AxisKind::channel, extent});
  return made;
}

BoundGraph graph_of(const Product& of) {
  BoundStage stage;
  for (const std::int64_t extent : of.left) {
    stage.left.push_back({AxisKind::channel, {static_cast<int>(stage.iters.size())}});
    stage.iters.push_back({AxisKind::channel, extent});
  }
  for (const std::int64_t extent : of.reduced) {
    stage.reduced.push_back(static_cast<int>(stage.iters.size()));
    stage.iters.push_back({AxisKind::channel, extent});
  }
  stage.out = 2;
  stage.reduce = Reduce::sum;
  stage.nodes = {BoundRead{0, of.activation}, BoundRead{1, of.weight}, Apply{Fn::mul, 0, 1}};
  return {{tensor(Role::input, of.activation_extents), tensor(Role::weight, of.weight_extents),
           tensor(Role::between, of.left)},
          {stage},
          0,
          2};
}

/// The interpreter in doubles, which hold these sums exactly, against the loops.
void expect_exact(const Product& of, std::int32_t activation_most, std::int32_t weight_most) {
  Rng rng(9);
  const BoundGraph graph = graph_of(of);
  TensorValues<double> values(3);
  std::vector<std::int32_t> codes[2];
  for (int t = 0; t < 2; ++t)
    for (std::int64_t i = 0; i < elements(graph.tensors[static_cast<std::size_t>(t)]); ++i) {
      const std::int32_t most = t == 0 ? activation_most : weight_most;
      codes[t].push_back(static_cast<std::int32_t>(rng.between(-most, most)));
      values[static_cast<std::size_t>(t)].push_back(codes[t].back());
    }
  RealDomain reals;
  evaluate(graph, reals, values);
  const BoundStage& stage = graph.stages[0];
  const IntegerProduct product(graph, stage, std::get<BoundRead>(stage.nodes[0]), std::get<BoundRead>(stage.nodes[1]),
                               codes[1], activation_most);
  const auto sums = product.sums(codes[0]);
  ASSERT_EQ(sums.size(), values[2].size());
  for (std::size_t i = 0; i < sums.size(); ++i) EXPECT_EQ(static_cast<double>(sums[i]), values[2][i]) << i;
}

// Iterators: 0 c, 1 h, 2 w of the result; 3 ci, 4 u, 5 v reduced.
Product convolution(std::int64_t stride, std::int64_t dilation, std::int64_t pad) {
  return {{5, 4, 6},
          {3, 3, 3},
          {{{{3, 1}}, 0, {}}, {{{1, stride}, {4, dilation}}, -pad, {}}, {{{2, stride}, {5, dilation}}, -pad, {}}},
          {3, 7, 9},
          {{{{0, 1}}, 0, {}}, {{{3, 1}}, 0, {}}, {{{4, 1}}, 0, {}}, {{{5, 1}}, 0, {}}},
          {5, 3, 3, 3}};
}

TEST(IntegerProduct, EqualsTheInterpreterOnWindowsThatReachOutside) {
  for (const std::int64_t stride : {1, 2})
    for (const std::int64_t dilation : {1, 2})
      for (const std::int64_t pad : {0, 1, 3}) expect_exact(convolution(stride, dilation, pad), 255, 127);
}

TEST(IntegerProduct, IsExactWhereSumsNeedMoreThan32Bits) { expect_exact(convolution(1, 1, 1), 65535, 32767); }

TEST(IntegerProduct, EqualsTheInterpreterWithoutALoopOfNeighbours) {
  // A fully connected layer: each result has its own row of weights.
  expect_exact({{7}, {11}, {{{{1, 1}}, 0, {}}}, {11}, {{{{0, 1}}, 0, {}}, {{{1, 1}}, 0, {}}}, {7, 11}}, 127, 7);
}

TEST(IntegerProduct, EqualsTheInterpreterOnGroupsAndBackwardReads) {
  // Result (g, c, w); activation [6 channels, 8], read backwards along w: channel 3g + r, place 9 - 2w.
  expect_exact({{2, 4, 5},
                {3},
                {{{{0, 3}, {3, 1}}, 0, {}}, {{{2, -2}}, 9, {}}},
                {6, 8},
                {{{{0, 1}}, 0, {}}, {{{1, 1}}, 0, {}}, {{{3, 1}}, 0, {}}},
                {2, 4, 3}},
               15, 7);
}

TEST(IntegerProduct, GivesZeroWhereNothingIsInside) {
  expect_exact({{3}, {2}, {{{{0, 1}, {1, 1}}, 40, {}}}, {9}, {{{{1, 1}}, 0, {}}}, {2}}, 15, 7);
}

TEST(SlicesOfResult, NameTheWeightsOfEachElement) {
  const BoundGraph graph = graph_of(convolution(1, 1, 1));
  const BoundStage& stage = graph.stages[0];
  const auto slices = slices_of_result(graph, stage, std::get<BoundRead>(stage.nodes[1]), 1);
  ASSERT_EQ(slices.size(), 5U * 24);
  for (std::size_t i = 0; i < slices.size(); ++i) EXPECT_EQ(slices[i], static_cast<int>(i / 24));
  EXPECT_EQ(slices_of_result(graph, stage, std::get<BoundRead>(stage.nodes[1]), 0), std::vector<std::int32_t>(120, 0));
}

}  // namespace
}  // namespace kasimir
