// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/builder.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kasimir {
namespace {

Binding numbers(std::int64_t channels) {
  Binding binding;
  binding.set(Symbol::N, 2).set(Symbol::Ci, channels).set(Symbol::g, 3);
  return binding;
}

/// `y[c0<extent] = x[factor*c0 + offset]` for an input of Ci channels.
Graph copy(const Size& extent, const Size& factor, const SizeSum& offset) {
  Graph graph;
  Tensor input;
  input.name = "x";
  input.role = Role::input;
  input.axes = {{AxisKind::batch, Size(Symbol::N)}, {AxisKind::channel, Size(Symbol::Ci)}};
  graph.tensors.push_back(input);
  StageBuilder build(graph, {0}, 0);
  Draft draft = build.draft();
  const Coord n = draft.batch();
  const Coord c = draft.left(AxisKind::channel, extent);
  graph.output = draft.emit(draft.read(0, {n, factor * c + offset}));
  return graph;
}

TEST(Bind, EvaluatesEverySize) {
  const auto bound = bind(copy(Size::parse("Ci/g"), Size(Symbol::g), Size(Symbol::g).negated()), numbers(6));
  ASSERT_TRUE(bound.ok());
  EXPECT_EQ(str(*bound), "t0[n0<2, c0<2] = x[n0, 3*c0 - 3]\n");
  EXPECT_EQ(elements(bound->tensors[0]), 12);
  EXPECT_EQ(domain(bound->stages[0]), 4);
}

TEST(Bind, RefusesAnExtentThatIsNotWhole) {
  EXPECT_EQ(bind(copy(Size::parse("Ci/g"), Size(1), {}), numbers(7)).rejection().str(),
            "size is whole (Ci/g = 7/3 at Ci=7 g=3)");
}

TEST(Bind, RefusesACoefficientThatIsNotWhole) {
  EXPECT_EQ(bind(copy(Size(2), Size::parse("Ci/g"), {}), numbers(7)).rejection().str(),
            "coefficients and offsets are whole (Ci/g = 7/3 at N=2 Ci=7 g=3)");
}

TEST(Bind, RefusesAnOffsetThatIsNotWhole) {
  EXPECT_EQ(bind(copy(Size(2), Size(1), SizeSum(Size::parse("Ci/2"))), numbers(7)).rejection().str(),
            "coefficients and offsets are whole (Ci/2 = 7/2 at N=2 Ci=7 g=3)");
}

TEST(Bind, RefusesDigitsThatDoNotFillTheirAxis) {
  Graph graph = copy(Size(4), Size(1), {});
  graph.tensors.back().axes[1].extent = Size(5);
  EXPECT_EQ(bind(graph, numbers(6)).rejection().str(),
            "an axis has as many elements as its digits name (t0[n0<2, c0<4] = x[n0, c0] at N=2 Ci=6 g=3)");
}

BoundGraph training(const std::string& text) {
  return lower_at(parse_kernel("kernel k\n" + text, catalog()), {4, 4, 3, 3, 1}, 2).value();
}

TEST(Freeze, TurnsStatisticsIntoTensors) {
  const BoundGraph graph = training("  a = norm(x)\n  b = relu(a)\nreturn b\n");
  const BoundGraph frozen = freeze(graph);
  EXPECT_EQ(graph.stages.size(), 5U);
  EXPECT_EQ(frozen.stages.size(), 3U);
  EXPECT_EQ(std::ranges::count(frozen.tensors, Role::stat, &BoundTensor::role), 2);
  EXPECT_EQ(std::ranges::count(graph.tensors, Role::stat, &BoundTensor::role), 0);
  EXPECT_FALSE(verify(frozen).has_value());
}

TEST(Freeze, DropsWhatOnlyFedTheStatistics) {
  BoundGraph graph = training("  a = norm(x)\nreturn a\n");
  // The variance is taken of a copy of its own instead of the input.
  BoundStage copied = graph.stages.back();
  copied.out = static_cast<int>(graph.tensors.size());
  graph.tensors.push_back(graph.tensors[static_cast<std::size_t>(graph.output)]);
  for (BoundNode& node : graph.stages[1].nodes)
    if (auto* read = std::get_if<BoundRead>(&node); read != nullptr && read->tensor == 0) read->tensor = copied.out;
  copied.nodes = {BoundRead{0, std::get<BoundRead>(copied.nodes[0]).at}};
  graph.stages.insert(graph.stages.begin() + 1, copied);
  ASSERT_FALSE(verify(graph).has_value());
  EXPECT_EQ(freeze(graph).stages.size(), graph.stages.size() - 3);
}

TEST(Freeze, LeavesAGraphWithoutStatisticsAlone) {
  const BoundGraph graph = training("  a = softmax(x, axes=c)\nreturn a\n");
  EXPECT_EQ(str(freeze(graph)), str(graph));
}

}  // namespace
}  // namespace kasimir
