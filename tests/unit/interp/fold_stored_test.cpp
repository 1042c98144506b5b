// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/fold_stored.h"

#include "kasimir/interp/real.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

BoundGraph frozen(const std::string& text) {
  const auto graph = lower_at(parse_kernel(text, catalog()), {4, 4, 3, 3, 1}, 1);
  EXPECT_TRUE(graph.ok());
  return freeze(*graph);
}

TensorValues<double> all_values(const BoundGraph& graph) {
  Rng rng(3);
  TensorValues<double> values = random_values(graph, rng);
  for (std::size_t t = 0; t < values.size(); ++t)
    if (graph.tensors[t].role == Role::stat)
      for (std::int64_t i = 0; i < elements(graph.tensors[t]); ++i) values[t].push_back(0.5 + rng.unit());
  return values;
}

TEST(FoldStored, LeavesNoConstantAndNoOperationOfStoredNumbers) {
  for (const char* text : {"kernel k\n  a = norm(x)\n  b = sqrt(a)\nreturn b\n", "kernel k\n  a = sin(x)\nreturn a\n",
                           "kernel k\n  a = scale(x, axes=(c,h))\n  b = linear(a, to=Co)\nreturn b\n"}) {
    BoundGraph graph = frozen(text);
    TensorValues<double> values = all_values(graph);
    fold_stored(graph, values);
    for (const BoundStage& stage : graph.stages)
      for (const BoundNode& node : stage.nodes) {
        EXPECT_FALSE(std::holds_alternative<Constant>(node)) << text;
        const auto* apply = std::get_if<Apply>(&node);
        if (apply == nullptr) continue;
        const auto stored = [&](int at) {
          const auto* read = at < 0 ? nullptr : std::get_if<BoundRead>(&stage.nodes[static_cast<std::size_t>(at)]);
          if (read == nullptr) return at < 0;
          const Role role = graph.tensors[static_cast<std::size_t>(read->tensor)].role;
          return role == Role::weight || role == Role::stat;
        };
        EXPECT_FALSE(stored(apply->a) && stored(apply->b)) << text;
      }
  }
}

TEST(FoldStored, KeepsTheMeaning) {
  const BoundGraph before = frozen(
      "kernel k\n  a = norm(x)\n  b = sqrt(a)\n  c = sin(b)\n  d = scale(c, axes=w)\n  e = softmax(d, axes=c)\n"
      "return e\n");
  TensorValues<double> values = all_values(before);
  BoundGraph after = before;
  TensorValues<double> folded = values;
  fold_stored(after, folded);
  EXPECT_GT(after.tensors.size(), before.tensors.size());
  RealDomain reals;
  evaluate(before, reals, values);
  evaluate(after, reals, folded);
  const auto output = static_cast<std::size_t>(before.output);
  ASSERT_EQ(values[output].size(), 36U);
  for (std::size_t i = 0; i < 36; ++i) EXPECT_DOUBLE_EQ(values[output][i], folded[output][i]);
}

TEST(FoldStored, GivesATensorOverTheIteratorsOfBothOperands) {
  const auto along = [](std::initializer_list<int> iters) {
    std::vector<BoundCoord> at;
    for (const int iter : iters) at.push_back({{{iter, 1}}, 0, {}});
    return at;
  };
  BoundStage stage;  // out[i, j] = x[i, j] * (w[i] - (2 + v[j]))
  stage.out = 3;
  stage.iters = {{AxisKind::channel, 2}, {AxisKind::width, 3}};
  stage.left = {{AxisKind::channel, {0}}, {AxisKind::width, {1}}};
  stage.nodes = {Constant{2},          BoundRead{2, along({1})},    Apply{Fn::add, 0, 1}, BoundRead{1, along({0})},
                 Apply{Fn::sub, 3, 2}, BoundRead{0, along({0, 1})}, Apply{Fn::mul, 5, 4}};
  BoundGraph graph;
  graph.tensors.resize(4);
  graph.tensors[0].axes = graph.tensors[3].axes = {{AxisKind::channel, 2}, {AxisKind::width, 3}};
  graph.tensors[1] = {"w", Role::weight, {{AxisKind::channel, 2}}, WeightRole::scale, 1};
  graph.tensors[2] = {"v", Role::stat, {{AxisKind::width, 3}}, WeightRole::scale, 1};
  graph.stages = {stage};
  TensorValues<double> values{{1, 1, 1, 1, 1, 1}, {10, 20}, {1, 2, 3}};
  fold_stored(graph, values);
  ASSERT_EQ(values.size(), 5U);
  EXPECT_EQ(values[4], (std::vector<double>{7, 6, 5, 17, 16, 15}));
  EXPECT_EQ(graph.stages[0].nodes.size(), 3U);
}

}  // namespace
}  // namespace kasimir
