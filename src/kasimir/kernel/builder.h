// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/primitive.h"
#include "kasimir/kernel/stage.h"

#include <initializer_list>

namespace kasimir {

Coord operator*(const Size& factor, const Coord& coord);
Coord operator+(Coord a, const Coord& b);
Coord operator+(Coord a, const SizeSum& offset);
Coord operator-(Coord a, const SizeSum& offset);
/// `coord` modulo `extent`.
Coord wrapped(Coord coord, const Size& extent);

/// A node of the stage under construction.
struct Expr {
  int node;
};

class StageBuilder;

/// One stage under construction. Iterators appear in the order in which they are asked for.
class Draft {
 public:
  explicit Draft(StageBuilder& builder) : builder_(&builder) {}

  /// The batch: first axis of the left side.
  Coord batch();
  /// The batch as a reduced iterator, for batch statistics only.
  Coord reduced_batch();
  /// A fresh iterator that is a whole new axis of the left side.
  Coord left(AxisKind kind, const Size& extent);
  /// A new axis of the left side made of several digits, most significant first; one coordinate per digit.
  std::vector<Coord> left_digits(AxisKind kind, const std::vector<Axis>& digits);
  /// A fresh iterator that is reduced.
  Coord reduced(AxisKind kind, const Size& extent);

  Expr read(int tensor, std::vector<Coord> at);
  Expr constant(Rational value);
  Expr half_pi();
  Expr apply(Fn fn, Expr a);
  Expr apply(Fn fn, Expr a, Expr b);

  void factor(const Size& value) { stage_.factor = value; }
  void root_factor(const Size& value) {
    stage_.factor = value;
    stage_.root = true;
  }
  void mark_stabiliser() { stage_.stabiliser = true; }
  void mark_stat(Stat stat) { stage_.stat = stat; }

  /// Ends the stage; `value` is what is reduced. Returns the tensor that it defines.
  int emit(Expr value, Reduce reduce = Reduce::none);

 private:
  Coord fresh(AxisKind kind, const Size& extent);
  Expr push(BasicNode<Symbolic> node);
  StageBuilder* builder_;
  Stage stage_;
};

/// Where a primitive's meaning is written: gives operands and weights, collects stages.
class StageBuilder {
 public:
  StageBuilder(Graph& graph, std::vector<int> operands, int step)
      : graph_(&graph), operands_(std::move(operands)), step_(step) {}

  [[nodiscard]] int operand(int index = 0) const { return operands_[static_cast<std::size_t>(index)]; }
  /// A new weight; `fan_in` is the product of the extents that it is summed over.
  int weight(WeightRole role, const Shape& axes, const Size& fan_in = Size(1));
  [[nodiscard]] Draft draft() { return Draft(*this); }
  /// The tensor that the last stage defined.
  [[nodiscard]] int last() const { return last_; }

 private:
  friend class Draft;
  int define(Stage stage, std::vector<BasicAxis<Symbolic>> axes);
  Graph* graph_;
  std::vector<int> operands_;
  int step_;
  int last_ = -1;
};

}  // namespace kasimir
