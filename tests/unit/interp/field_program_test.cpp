// SPDX-License-Identifier: Apache-2.0
// Stages written by hand: shapes that no primitive has today.
#include "kasimir/interp/field_program.h"

#include "support/thrown.h"
#include "unit/interp/field_agreement.h"

#include <gmock/gmock.h>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 12;

/// A graph of one stage over inputs of the given extents.
BoundGraph one_stage(const std::vector<std::vector<std::int64_t>>& inputs, BoundStage stage) {
  BoundGraph graph;
  for (const auto& extents : inputs) {
    BoundTensor tensor{"x", Role::input, {}, {}, 1};
    for (std::int64_t extent : extents) tensor.axes.push_back({AxisKind::channel, extent});
    graph.tensors.push_back(std::move(tensor));
  }
  BoundTensor out{"y", Role::between, {}, {}, 1};
  for (const LeftAxis& axis : stage.left) {
    std::int64_t extent = 1;
    for (int digit : axis.digits) extent *= stage.iters[static_cast<std::size_t>(digit)].extent;
    out.axes.push_back({axis.kind, extent});
  }
  stage.out = graph.output = static_cast<int>(inputs.size());
  graph.tensors.push_back(std::move(out));
  graph.stages.push_back(std::move(stage));
  return graph;
}

/// Iterators of these extents; the first `left` of them make one axis each, the others are reduced.
BoundStage over(const std::vector<std::int64_t>& extents, int left, Reduce reduce = Reduce::none) {
  BoundStage stage;
  stage.reduce = reduce;
  for (std::size_t i = 0; i < extents.size(); ++i) {
    stage.iters.push_back({AxisKind::channel, extents[i]});
    if (static_cast<int>(i) < left) {
      stage.left.push_back({AxisKind::channel, {static_cast<int>(i)}});
    } else {
      stage.reduced.push_back(static_cast<int>(i));
    }
  }
  return stage;
}

/// A read of tensor t at plain iterators.
BoundRead plain(int tensor, const std::vector<int>& iters) {
  BoundRead read{tensor, {}};
  for (int iter : iters) read.at.push_back({{{iter, 1}}, 0, {}});
  return read;
}

struct Case {
  const char* name;
  BoundGraph graph;
};
std::ostream& operator<<(std::ostream& out, const Case& c) { return out << c.name; }

BoundStage with(BoundStage stage, std::vector<BoundNode> nodes, Rational factor = 1, bool root = false) {
  stage.nodes = std::move(nodes);
  stage.factor = factor;
  stage.root = root;
  return stage;
}

std::vector<Case> copies() {
  const BoundRead strided{0, {{{{0, 2}}, -3, {}}, {{{1, -1}}, 4, {}}}};
  const BoundRead wrapped{0, {{{{0, 1}}, 7, 3}, {{{1, -2}}, 0, 5}}};
  const BoundRead diagonal{0, {{{{0, 1}}, 0, {}}, {{{0, 1}, {1, 1}}, -2, {}}}};
  return {
      {"identity", one_stage({{4, 9}}, with(over({4, 9}, 2), {plain(0, {0, 1})}))},
      {"identity of one element", one_stage({{1}}, with(over({1}, 1), {plain(0, {0})}))},
      {"part of the rows",
       one_stage({{5, 9}}, with(over({3, 9}, 2), {BoundRead{0, {{{{0, 1}}, 2, {}}, {{{1, 1}}, 0, {}}}}}))},
      {"transposition", one_stage({{9, 4}}, with(over({4, 9}, 2), {plain(0, {1, 0})}))},
      {"stride and direction", one_stage({{4, 5}}, with(over({5, 6}, 2), {strided}))},
      {"all outside", one_stage({{4}}, with(over({3}, 1), {BoundRead{0, {{{{0, 1}}, 9, {}}}}}))},
      {"wrapped", one_stage({{3, 5}}, with(over({4, 6}, 2), {wrapped}))},
      {"diagonal", one_stage({{4, 9}}, with(over({4, 7}, 2), {diagonal}))},
      {"repeated along new axes", one_stage({{3}}, with(over({4, 3, 5}, 3), {plain(0, {1})}))},
      {"a long table", one_stage({{300, 300}}, with(over({300, 300}, 2), {plain(0, {1, 0})}))},
      {"factor", one_stage({{4, 9}}, with(over({4, 9}, 2), {plain(0, {0, 1})}, Rational(-2, 3)))},
      {"root of a factor", one_stage({{4, 9}}, with(over({4, 9}, 2), {plain(0, {0, 1})}, Rational(1, 3), true))},
      {"a constant", one_stage({}, with(over({4, 9}, 2), {Constant{Rational(2, 7), true}}))},
      {"a constant, reduced", one_stage({}, with(over({4, 9}, 1, Reduce::sum), {Constant{Rational(2, 7), false}}))},
      {"a constant's maximum", one_stage({}, with(over({4, 9}, 1, Reduce::max), {Constant{Rational(3), false}}))},
      {"an unused node", one_stage({{4}, {4}}, with(over({4}, 1), {plain(1, {0}), plain(0, {0}), Apply{Fn::relu, 1}}))},
  };
}

std::vector<Case> reductions() {
  const BoundRead window{0, {{{{0, 1}}, 0, {}}, {{{1, 1}, {2, 2}}, -2, {}}}};
  return {
      {"sum of all", one_stage({{4, 9}}, with(over({4, 9}, 0, Reduce::sum), {plain(0, {0, 1})}))},
      {"sum of the last",
       one_stage({{4, 90}}, with(over({4, 90}, 1, Reduce::sum), {plain(0, {0, 1})}, Rational(1, 90)))},
      {"sum of the first", one_stage({{9, 4}}, with(over({4, 9}, 1, Reduce::sum), {plain(0, {1, 0})}))},
      {"sum of the middle", one_stage({{3, 9, 4}}, with(over({3, 4, 9}, 2, Reduce::sum), {plain(0, {0, 2, 1})}))},
      {"sum of the first and the last",
       one_stage({{3, 9, 4}}, with(over({9, 3, 4}, 1, Reduce::sum), {plain(0, {1, 0, 2})}))},
      {"sum to another order", one_stage({{3, 9, 4}}, with(over({4, 3, 9}, 2, Reduce::sum), {plain(0, {1, 2, 0})}))},
      {"sum over what is not read", one_stage({{4}}, with(over({4, 9}, 1, Reduce::sum), {plain(0, {0})}))},
      {"sum for what is not read", one_stage({{9}}, with(over({4, 9}, 1, Reduce::sum), {plain(0, {1})}))},
      {"sum of a window", one_stage({{4, 9}}, with(over({4, 9, 3}, 2, Reduce::sum), {window}))},
      {"maximum of a window", one_stage({{4, 9}}, with(over({4, 9, 3}, 2, Reduce::max), {window}))},
      {"maximum of the first and the last",
       one_stage({{3, 9, 4}}, with(over({9, 3, 4}, 1, Reduce::max), {plain(0, {1, 0, 2})}, Rational(2)))},
      {"sum of a function",
       one_stage({{4, 9}}, with(over({4, 9}, 1, Reduce::sum), {plain(0, {0, 1}), Apply{Fn::sigmoid, 0}}))},
      {"sum of squares",
       one_stage({{4, 9}}, with(over({4, 9}, 1, Reduce::sum), {plain(0, {0, 1}), Apply{Fn::mul, 0, 0}}))},
      {"maximum of a product", one_stage({{4, 9}, {9}}, with(over({4, 9}, 1, Reduce::max),
                                                             {plain(0, {0, 1}), plain(1, {1}), Apply{Fn::mul, 0, 1}}))},
  };
}

std::vector<Case> products() {
  return {
      {"matrix and vector", one_stage({{40, 9}, {9}}, with(over({40, 9}, 1, Reduce::sum),
                                                           {plain(0, {0, 1}), plain(1, {1}), Apply{Fn::mul, 0, 1}}))},
      {"matrices", one_stage({{8, 9}, {9, 20}},
                             with(over({8, 20, 9}, 2, Reduce::sum),
                                  {plain(0, {0, 2}), plain(1, {2, 1}), Apply{Fn::mul, 0, 1}}, Rational(1, 9), true))},
      {"matrices, one transposed",
       one_stage({{8, 9}, {20, 9}},
                 with(over({20, 8, 9}, 2, Reduce::sum), {plain(0, {1, 2}), plain(1, {0, 2}), Apply{Fn::mul, 0, 1}}))},
      {"narrow matrices",
       one_stage({{90, 9}, {2, 9}},
                 with(over({90, 2, 9}, 2, Reduce::sum), {plain(0, {0, 2}), plain(1, {1, 2}), Apply{Fn::mul, 0, 1}}))},
      {"products of small matrices",
       one_stage({{30, 2, 9}, {30, 9, 2}}, with(over({30, 2, 2, 9}, 3, Reduce::sum),
                                                {plain(0, {0, 1, 3}), plain(1, {0, 3, 2}), Apply{Fn::mul, 0, 1}}))},
      {"matrices of functions",
       one_stage({{8, 9}, {20, 9}},
                 with(over({20, 8, 9}, 2, Reduce::sum), {plain(0, {1, 2}), Apply{Fn::neg, 0}, plain(1, {0, 2}),
                                                         Apply{Fn::sigmoid, 2}, Apply{Fn::mul, 1, 3}}))},
      {"a product summed over more than one of its reads",
       one_stage({{8, 9}, {20, 9, 3}}, with(over({20, 8, 9, 3}, 2, Reduce::sum),
                                            {plain(0, {1, 2}), plain(1, {0, 2, 3}), Apply{Fn::mul, 0, 1}}))},
      {"a product for more than its reads",
       one_stage({{8, 9}, {20, 9}}, with(over({20, 3, 8, 9}, 3, Reduce::sum),
                                         {plain(0, {2, 3}), plain(1, {0, 3}), Apply{Fn::mul, 0, 1}}))},
  };
}

std::vector<Case> combinations() {
  return {
      {"rows, columns and both",
       one_stage({{6, 10}, {6}, {10}},
                 with(over({6, 10}, 2), {plain(1, {0}), plain(2, {1}), Apply{Fn::mul, 0, 1}, plain(0, {0, 1}),
                                         Apply{Fn::sub, 2, 3}, Apply{Fn::div, 4, 0}, Apply{Fn::div, 1, 5}}))},
      {"short rows",
       one_stage({{10, 3}, {10}, {3}}, with(over({10, 3}, 2), {plain(0, {0, 1}), plain(1, {0}), Apply{Fn::max, 0, 1},
                                                               plain(2, {1}), Apply{Fn::min, 3, 2}}))},
      {"the middle axis", one_stage({{4, 9, 5}, {9}}, with(over({4, 9, 5}, 3), {plain(0, {0, 1, 2}), plain(1, {1}),
                                                                                Apply{Fn::sub, 1, 0}}))},
      {"joined",
       one_stage({{4, 9}, {4, 5}},
                 with(over({4, 14}, 2), {plain(0, {0, 1}), BoundRead{1, {{{{0, 1}}, 0, {}}, {{{1, 1}}, -9, {}}}},
                                         Apply{Fn::join, 0, 1}}))},
  };
}

class Programs : public ::testing::TestWithParam<Case> {};

TEST_P(Programs, GiveTheInterpretersValues) {
  FieldScratch scratch;
  EXPECT_GT(testing::expect_agreement(GetParam().graph, seed, scratch), 0U);
}

INSTANTIATE_TEST_SUITE_P(Copies, Programs, ::testing::ValuesIn(copies()));
INSTANTIATE_TEST_SUITE_P(Reductions, Programs, ::testing::ValuesIn(reductions()));
INSTANTIATE_TEST_SUITE_P(Products, Programs, ::testing::ValuesIn(products()));
INSTANTIATE_TEST_SUITE_P(Combinations, Programs, ::testing::ValuesIn(combinations()));

TEST(Program, GivesZerosForAStabiliserWithoutReadingAnything) {
  BoundStage stage = with(over({4, 9}, 1, Reduce::max), {plain(0, {0, 1})});
  stage.stabiliser = true;
  const BoundGraph graph = one_stage({{4, 9}}, stage);
  FieldScratch scratch;
  EXPECT_EQ(testing::expect_agreement(graph, seed, scratch), 4 * field_vectors().size());
  EXPECT_TRUE(FieldProgram(graph, graph.stages[0]).reads().empty());
}

TEST(Program, ReadsATensorOnce) {
  const BoundGraph graph = one_stage({{4}, {4}}, with(over({4}, 1), {plain(1, {0}), plain(0, {0}), Apply{Fn::sub, 0, 1},
                                                                     plain(1, {0}), Apply{Fn::mul, 2, 3}}));
  EXPECT_EQ(FieldProgram(graph, graph.stages[0]).reads(), (std::vector<int>{1, 0}));
}

TEST(Program, RefusesAnotherNumberOfOperands) {
  const BoundGraph graph = one_stage({{4}}, with(over({4}, 1), {plain(0, {0})}));
  const FieldProgram program(graph, graph.stages[0]);
  FieldScratch scratch;
  EXPECT_THAT(testing::thrown_by([&] { program.run({}, nullptr, scratch); }),
              ::testing::HasSubstr("70: internal error: 0 operands, 1 wanted"));
}

TEST(Program, SaysHowMuchMemoryItTakesWithoutSharedTables) {
  const BoundGraph large = one_stage({{300, 300}}, with(over({300, 300}, 2), {plain(0, {1, 0})}));
  FieldTables tables;
  EXPECT_EQ(tables.bytes(), 0U);
  EXPECT_LT(FieldProgram(large, large.stages[0], tables).bytes(), 1000U);
  // A row for each row of the result, not an entry for each element; once for all programs.
  EXPECT_EQ(tables.bytes(), 300U * sizeof(FieldRow));
  EXPECT_LT(FieldProgram(large, large.stages[0], tables).bytes(), 1000U);
  EXPECT_EQ(tables.bytes(), 300U * sizeof(FieldRow));
  const BoundGraph other = one_stage({{300, 200}}, with(over({200, 300}, 2), {plain(0, {1, 0})}));
  const FieldProgram program(other, other.stages[0], tables);
  EXPECT_EQ(tables.bytes(), 500U * sizeof(FieldRow));
}

}  // namespace
}  // namespace kasimir
