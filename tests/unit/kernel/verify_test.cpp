// SPDX-License-Identifier: Apache-2.0
// Each rule of the verifier on a graph broken by hand in one place.
#include "kasimir/kernel/verify.h"

#include "kasimir/kernel/kernel.h"
#include "kasimir/primitive/catalog.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

BoundGraph graph_of(const std::string& steps) {
  const Kernel kernel = parse_kernel("kernel k\n" + steps, catalog());
  BoundGraph graph = lower_at(kernel, {4, 4, 3, 5, 1}, 2).value();
  KASIMIR_CHECK(!verify(graph), "the graph is sound before it is broken");
  return graph;
}

BoundGraph convolution() { return graph_of("  a = conv(x, to=Co)\nreturn a\n"); }
BoundGraph softmax() { return graph_of("  a = softmax(x, axes=c)\nreturn a\n"); }
BoundGraph norm() { return graph_of("  a = norm(x)\nreturn a\n"); }
BoundGraph concat() { return graph_of("  a = relu(x)\n  b = concat(a, x)\n  c = linear(b, to=Co)\nreturn c\n"); }
BoundGraph wrap() { return graph_of("  a = shift(x, axes=(h,w), by=1, fill=wrap)\nreturn a\n"); }

BoundRead& read(BoundStage& stage, std::size_t node) { return std::get<BoundRead>(stage.nodes[node]); }

std::string reason(const BoundGraph& graph) {
  const auto broken = verify(graph);
  return broken ? broken->str() : "sound";
}
std::string rule(const BoundGraph& graph) {
  const auto broken = verify(graph);
  return broken ? broken->rule : "sound";
}

TEST(V1, AStageDefinesATensor) {
  BoundGraph graph = convolution();
  graph.stages[0].out = 17;
  EXPECT_EQ(reason(graph), "V1: a stage defines a tensor (stage 0)");
  graph.stages[0].out = -1;
  EXPECT_EQ(rule(graph), "V1: a stage defines a tensor");
}

TEST(V1, AStageHasAValue) {
  BoundGraph graph = convolution();
  graph.stages[0].nodes.clear();
  EXPECT_EQ(reason(graph), "V1: a stage has a value (stage 0)");
}

TEST(V1, ReadsAreOfTensorsDefinedBefore) {
  BoundGraph graph = softmax();
  std::swap(graph.stages[0], graph.stages[1]);
  EXPECT_EQ(reason(graph),
            "V1: a tensor is defined before it is read "
            "(t1[n0<2, c0<4, h0<3, w0<5] = exp(x[n0, c0, h0, w0] - t0[n0, h0, w0]))");
  graph = convolution();
  read(graph.stages[0], 0).tensor = 9;
  EXPECT_EQ(rule(graph), "V1: a tensor is defined before it is read");
  graph = convolution();
  read(graph.stages[0], 0).tensor = graph.stages[0].out;
  EXPECT_EQ(rule(graph), "V1: a tensor is defined before it is read");
}

TEST(V1, ReadsHaveOneCoordinatePerAxis) {
  BoundGraph graph = convolution();
  read(graph.stages[0], 0).at.pop_back();
  EXPECT_EQ(reason(graph), "V1: a read has one coordinate per axis (stage 0)");
}

TEST(V1, IteratorsAreKnown) {
  BoundGraph graph = convolution();
  read(graph.stages[0], 0).at[1].terms[0].first = 99;
  EXPECT_EQ(reason(graph), "V1: iterators are known (stage 0)");
  graph = convolution();
  graph.stages[0].reduced[0] = -1;
  EXPECT_EQ(rule(graph), "V1: iterators are known");
  graph = convolution();
  graph.stages[0].left[1].digits[0] = 7;
  EXPECT_EQ(rule(graph), "V1: iterators are known");
}

TEST(V1, NodesReferToEarlierNodes) {
  BoundGraph graph = convolution();
  std::get<Apply>(graph.stages[0].nodes[2]).b = 2;
  EXPECT_EQ(reason(graph), "V1: nodes refer to earlier nodes (stage 0)");
  std::get<Apply>(graph.stages[0].nodes[2]) = {Fn::mul, 0, -1};
  EXPECT_EQ(rule(graph), "V1: nodes refer to earlier nodes");
  std::get<Apply>(graph.stages[0].nodes[2]) = {Fn::relu, 0, 1};
  EXPECT_EQ(rule(graph), "V1: nodes refer to earlier nodes");
}

TEST(V1, TheOutputIsDefined) {
  BoundGraph graph = convolution();
  graph.stages.clear();
  EXPECT_EQ(reason(graph), "V1: the output is defined");
  graph.output = -1;
  EXPECT_EQ(reason(graph), "V1: the output is defined");
}

TEST(V2, EachIteratorStandsOnce) {
  BoundGraph graph = convolution();
  graph.stages[0].reduced.push_back(graph.stages[0].left[1].digits[0]);
  EXPECT_EQ(rule(graph), "V2: each iterator stands once, as a digit of the left side or reduced");
  graph = convolution();
  graph.stages[0].reduced.pop_back();
  EXPECT_EQ(rule(graph), "V2: each iterator stands once, as a digit of the left side or reduced");
}

TEST(V3, AnAxisHasAsManyElementsAsItsDigitsName) {
  BoundGraph graph = convolution();
  graph.tensors[static_cast<std::size_t>(graph.stages[0].out)].axes[2].extent = 4;
  EXPECT_EQ(rule(graph), "V3: an axis has as many elements as its digits name");
  graph = convolution();
  graph.stages[0].left[2].kind = AxisKind::width;
  EXPECT_EQ(rule(graph), "V3: an axis has as many elements as its digits name");
  graph = convolution();
  graph.tensors[static_cast<std::size_t>(graph.stages[0].out)].axes.pop_back();
  EXPECT_EQ(rule(graph), "V3: the left side has the tensor's axes");
}

TEST(V4, ExtentsAreAtLeastOne) {
  BoundGraph graph = convolution();
  graph.tensors[0].axes[1].extent = 0;
  EXPECT_EQ(reason(graph), "V4: extents are at least 1 (x)");
  graph = convolution();
  graph.stages[0].iters[static_cast<std::size_t>(graph.stages[0].reduced[0])].extent = 0;
  EXPECT_EQ(rule(graph), "V4: extents are at least 1");
}

TEST(V5, EveryReducedIteratorOccurs) {
  BoundGraph graph = convolution();
  graph.stages[0].reduced.push_back(static_cast<int>(graph.stages[0].iters.size()));
  graph.stages[0].iters.push_back({AxisKind::token, 3});
  EXPECT_EQ(rule(graph), "V5: every reduced iterator occurs in the expression");
}

TEST(V5, AStageReducesExactlyIfItHasReducedIterators) {
  BoundGraph graph = convolution();
  graph.stages[0].reduce = Reduce::none;
  EXPECT_EQ(rule(graph), "V5: a stage reduces exactly if it has reduced iterators");
}

TEST(V6, AMaximumReducesOnePlainRead) {
  BoundGraph graph = convolution();
  graph.stages[0].reduce = Reduce::max;
  EXPECT_EQ(rule(graph), "V6: a max reduces one plain read with factor 1");
  graph = softmax();
  graph.stages[0].factor = Rational(1, 2);
  EXPECT_EQ(rule(graph), "V6: a max reduces one plain read with factor 1");
}

TEST(V7, AWrapIsOverOneIteratorOfTheAxis) {
  BoundGraph graph = wrap();
  read(graph.stages[0], 0).at[2].wrap = 5;
  EXPECT_EQ(rule(graph), "V7: a wrap is over one iterator of the axis's own extent");
  graph = wrap();
  std::swap(read(graph.stages[0], 0).at[2].terms, read(graph.stages[0], 0).at[3].terms);
  EXPECT_EQ(rule(graph), "V7: a wrap is over one iterator of the axis's own extent");
  graph = wrap();
  read(graph.stages[0], 0).at[2].terms[0].second = 2;
  EXPECT_EQ(rule(graph), "V7: a wrap is over one iterator of the axis's own extent");
  graph = wrap();
  read(graph.stages[0], 0).at[2].terms.clear();
  EXPECT_EQ(rule(graph), "V7: a wrap is over one iterator of the axis's own extent");
}

TEST(V8, OnlyAStatisticReducesOverTheBatch) {
  BoundGraph graph = norm();
  graph.stages[0].stat.reset();
  EXPECT_EQ(rule(graph), "V8: only a statistic reduces over the batch");
}

TEST(V8, ActivationsAreReadAtTheBatchsOwnIndex) {
  const std::string broken = "V8: activations are read at the batch's own index, weights have no batch";
  BoundGraph graph = convolution();
  read(graph.stages[0], 0).at[0].offset = 1;
  EXPECT_EQ(rule(graph), broken);
  graph = convolution();
  read(graph.stages[0], 0).at[0].terms.clear();
  EXPECT_EQ(rule(graph), broken);
  graph = convolution();
  read(graph.stages[0], 1).at[0] = read(graph.stages[0], 0).at[0];
  graph.tensors[static_cast<std::size_t>(read(graph.stages[0], 1).tensor)].axes[0].kind = AxisKind::batch;
  EXPECT_EQ(rule(graph), broken);
}

/// A weight that is read at the number of the sample would make samples depend on their place in the batch.
TEST(V8, TheBatchIsAnAxisOfItsOwn) {
  BoundGraph graph = convolution();
  read(graph.stages[0], 1).at[0] = read(graph.stages[0], 0).at[0];
  EXPECT_EQ(rule(graph), "V8: the batch is an axis of its own");
  graph = norm();
  BoundStage& last = graph.stages.back();
  std::swap(last.left[0].digits, last.left[1].digits);
  std::swap(graph.tensors[static_cast<std::size_t>(last.out)].axes[0].extent,
            graph.tensors[static_cast<std::size_t>(last.out)].axes[1].extent);
  EXPECT_EQ(rule(graph), "V8: the batch is an axis of its own");
}

TEST(V9, OperandsOfAJoinAreNeverInsideTogether) {
  BoundGraph graph = concat();
  read(graph.stages[1], 1).at[1].offset += 1;
  EXPECT_EQ(rule(graph), "V9: the operands of | are never inside together");
  graph = concat();
  read(graph.stages[1], 1).at[1].offset = 0;
  EXPECT_EQ(rule(graph), "V9: the operands of | are never inside together");
  // An operand that is no read is not provably apart.
  graph = concat();
  graph.stages[1].nodes.insert(graph.stages[1].nodes.begin() + 1, Apply{Fn::neg, 0});
  std::get<Apply>(graph.stages[1].nodes[3]) = {Fn::join, 1, 2};
  EXPECT_EQ(rule(graph), "V9: the operands of | are never inside together");
}

TEST(V9, TheOperandsMayHaveTheirAxesInAnotherOrder) {
  const BoundGraph graph = graph_of(
      "  a = neg(x)\n  b = mix(x, over=h, to=(h=H))\n  c = concat(a, b)\n  d = concat(b, a)\n"
      "  e = concat(c, d)\n  f = linear(e, to=Co)\nreturn f\n");
  EXPECT_EQ(reason(graph), "sound");
}

TEST(V10, AStabiliserIsAMaximum) {
  BoundGraph graph = softmax();
  graph.stages[2].stabiliser = true;
  EXPECT_EQ(rule(graph), "V10: a stabiliser is a maximum");
}

TEST(V10, AStabiliserIsReadInAnExponentOnly) {
  const std::string broken = "V10: a stabiliser is read as exp(. - m) only, beside its own operand";
  BoundGraph graph = softmax();
  std::get<Apply>(graph.stages[1].nodes[2]).fn = Fn::add;
  EXPECT_EQ(rule(graph), broken);
  graph = softmax();
  std::swap(std::get<Apply>(graph.stages[1].nodes[2]).a, std::get<Apply>(graph.stages[1].nodes[2]).b);
  EXPECT_EQ(rule(graph), broken);
  graph = softmax();
  std::get<Apply>(graph.stages[1].nodes[3]).fn = Fn::tanh;
  EXPECT_EQ(rule(graph), broken);
  // The difference itself as the stage's value, then the stabiliser itself.
  graph = softmax();
  graph.stages[1].nodes.pop_back();
  EXPECT_EQ(rule(graph), broken);
  graph = softmax();
  read(graph.stages[3], 1).tensor = graph.stages[0].out;
  EXPECT_EQ(rule(graph), broken);
}

TEST(V10, AStabiliserBelongsToItsOwnOperand) {
  BoundGraph graph = graph_of("  a = tanh(x)\n  b = softmax(a, axes=c)\nreturn b\n");
  read(graph.stages[1], 0).tensor = 0;
  EXPECT_EQ(rule(graph), "V10: a stabiliser is read as exp(. - m) only, beside its own operand");
}

TEST(V11, NoReadIsAlwaysOutside) {
  BoundGraph graph = convolution();
  read(graph.stages[0], 0).at[2].offset = 3;
  EXPECT_EQ(rule(graph), "V11: no read is outside its tensor for all iterations");
  read(graph.stages[0], 0).at[2].offset = -5;
  EXPECT_EQ(rule(graph), "V11: no read is outside its tensor for all iterations");
}

TEST(V12, ATensorIsWrittenOnce) {
  BoundGraph graph = softmax();
  graph.stages.push_back(graph.stages.back());
  EXPECT_EQ(rule(graph), "V12: each tensor is written once, and never the input or a weight");
}

TEST(V12, TheInputWeightsAndStoredStatisticsAreNeverWritten) {
  for (Role role : {Role::input, Role::weight, Role::stat}) {
    BoundGraph graph = norm();
    graph.tensors[static_cast<std::size_t>(graph.stages[0].out)].role = role;
    EXPECT_EQ(rule(graph), "V12: each tensor is written once, and never the input or a weight");
  }
}

}  // namespace
}  // namespace kasimir
