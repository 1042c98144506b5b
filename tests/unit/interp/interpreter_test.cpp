// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/interpreter.h"

#include "kasimir/interp/real.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

/// One stage over a vector x of the given length, written by hand.
BoundGraph one_stage(std::int64_t length, BoundStage stage) {
  BoundGraph graph;
  graph.tensors = {{"x", Role::input, {{AxisKind::channel, length}}, {}, 1}, {"y", Role::between, {}, {}, 1}};
  for (const LeftAxis& axis : stage.left) {
    std::int64_t extent = 1;
    for (int digit : axis.digits) extent *= stage.iters[static_cast<std::size_t>(digit)].extent;
    graph.tensors[1].axes.push_back({axis.kind, extent});
  }
  stage.out = 1;
  graph.stages.push_back(std::move(stage));
  graph.output = 1;
  return graph;
}

std::vector<double> run(const BoundGraph& graph, std::vector<double> x) {
  TensorValues<double> values{std::move(x)};
  RealDomain domain;
  evaluate(graph, domain, values);
  return values[static_cast<std::size_t>(graph.output)];
}

TEST(Evaluate, ReadsZeroOutside) {
  BoundStage stage;
  stage.iters = {{AxisKind::channel, 5}};
  stage.left = {{AxisKind::channel, {0}}};
  stage.nodes = {BoundRead{0, {{{{0, 2}}, -3, {}}}}};
  EXPECT_EQ(run(one_stage(4, stage), {1, 2, 3, 4}), (std::vector<double>{0, 0, 2, 4, 0}));
}

TEST(Evaluate, WrapsNegativeAndLargeCoordinates) {
  BoundStage stage;
  stage.iters = {{AxisKind::channel, 3}};
  stage.left = {{AxisKind::channel, {0}}};
  stage.nodes = {BoundRead{0, {{{{0, -1}}, 0, 3}}}};
  EXPECT_EQ(run(one_stage(3, stage), {1, 2, 3}), (std::vector<double>{1, 3, 2}));
  stage.nodes = {BoundRead{0, {{{{0, 1}}, 7, 3}}}};
  EXPECT_EQ(run(one_stage(3, stage), {1, 2, 3}), (std::vector<double>{2, 3, 1}));
}

TEST(Evaluate, WalksMixedRadixDigitsInMemoryOrder) {
  BoundStage stage;
  stage.iters = {{AxisKind::channel, 3}, {AxisKind::group, 2}};
  stage.left = {{AxisKind::channel, {0, 1}}};
  stage.nodes = {BoundRead{0, {{{{1, 3}, {0, 1}}, 0, {}}}}};
  EXPECT_EQ(run(one_stage(6, stage), {0, 1, 2, 3, 4, 5}), (std::vector<double>{0, 3, 1, 4, 2, 5}));
}

TEST(Evaluate, ScalesAfterTheReduction) {
  BoundStage stage;
  stage.iters = {{AxisKind::channel, 4}};
  stage.reduced = {0};
  stage.reduce = Reduce::sum;
  stage.factor = Rational(1, 4);
  stage.nodes = {BoundRead{0, {{{{0, 1}}, 0, {}}}}};
  EXPECT_EQ(run(one_stage(4, stage), {1, 2, 3, 6}), (std::vector<double>{3}));
  stage.root = true;
  EXPECT_EQ(run(one_stage(4, stage), {1, 2, 3, 6}), (std::vector<double>{6}));
  stage.root = false;
  stage.factor = Rational(1);
  stage.reduce = Reduce::max;
  EXPECT_EQ(run(one_stage(4, stage), {-1, -2, -3, -6}), (std::vector<double>{-1}));
}

TEST(Evaluate, CountsAPaddedZeroInAMaximum) {
  BoundStage stage;
  stage.iters = {{AxisKind::channel, 2}, {AxisKind::window_w, 3}};
  stage.left = {{AxisKind::channel, {0}}};
  stage.reduced = {1};
  stage.reduce = Reduce::max;
  stage.nodes = {BoundRead{0, {{{{0, 2}, {1, 1}}, -1, {}}}}};
  EXPECT_EQ(run(one_stage(4, stage), {-5, -6, -7, -8}), (std::vector<double>{0, -6}));
}

/// Both paths through a node that is used twice count: x*x has slope 2x.
TEST(Evaluate, FollowsEveryPathOfASharedNode) {
  BoundStage stage;
  stage.iters = {{AxisKind::channel, 2}};
  stage.left = {{AxisKind::channel, {0}}};
  stage.nodes = {BoundRead{0, {{{{0, 1}}, 0, {}}}}, Apply{Fn::mul, 0, 0}};
  const BoundGraph graph = one_stage(2, stage);
  TensorValues<Dual> values{{{3, 1}, {5, 10}}};
  DualDomain domain;
  evaluate(graph, domain, values);
  EXPECT_EQ(values[1][0].slope, 6.0);
  EXPECT_EQ(values[1][1].slope, 100.0);
}

/// Zeros behind a relu or in the padding are frequent ties: three of them share the slope in thirds, not 1/4 1/4 1/2.
TEST(Evaluate, SplitsTheSlopeOfAReducedMaximumEvenly) {
  BoundStage stage;
  stage.iters = {{AxisKind::channel, 4}};
  stage.reduced = {0};
  stage.reduce = Reduce::max;
  stage.nodes = {BoundRead{0, {{{{0, 1}}, 0, {}}}}};
  const BoundGraph graph = one_stage(4, stage);
  TensorValues<Dual> values{{{0, 3}, {0, 6}, {-1, 100}, {0, 9}}};
  DualDomain domain;
  evaluate(graph, domain, values);
  EXPECT_EQ(values[1][0].slope, 6.0);
}

TEST(Freeze, WithTheBatchsOwnStatisticsGivesTheTrainingResult) {
  const Kernel kernel = parse_kernel(
      "kernel k\n  a = conv(x, to=Co)\n  b = norm(a)\n  c = relu(b)\n  d = norm(c)\nreturn d\n", catalog());
  const BoundGraph graph = lower_at(kernel, {3, 4, 3, 2, 1}, 4).value();
  const BoundGraph frozen = freeze(graph);
  Rng rng(11);
  TensorValues<double> training = random_values(graph, rng);
  TensorValues<double> stored = training;
  RealDomain domain;
  evaluate(graph, domain, training);
  for (std::size_t t = 0; t < stored.size(); ++t)
    if (frozen.tensors[t].role == Role::stat) stored[t] = training[t];
  evaluate(frozen, domain, stored);
  const auto out = static_cast<std::size_t>(graph.output);
  EXPECT_EQ(stored[out], training[out]);
  for (const BoundStage& stage : frozen.stages) EXPECT_FALSE(stage.stat.has_value());
}

TEST(Stabilisers, AreLeftOutWhereTheDomainSaysSo) {
  struct Plain : RealDomain {
    [[nodiscard]] static bool stabiliser() { return false; }
  };
  const Kernel kernel = parse_kernel("kernel k\n  a = softmax(x, axes=c)\nreturn a\n", catalog());
  const BoundGraph graph = lower_at(kernel, {4, 4, 1, 1, 1}, 1).value();
  TensorValues<double> with{{1, 2, 3, 4}};
  TensorValues<double> without = with;
  RealDomain real;
  Plain plain;
  evaluate(graph, real, with);
  evaluate(graph, plain, without);
  const auto m = static_cast<std::size_t>(graph.stages[0].out);
  EXPECT_EQ(with[m], (std::vector<double>{4}));
  EXPECT_EQ(without[m], (std::vector<double>{0}));
  for (std::size_t i = 0; i < 4; ++i) EXPECT_NEAR(with.back()[i], without.back()[i], 1e-15);
}

}  // namespace
}  // namespace kasimir
