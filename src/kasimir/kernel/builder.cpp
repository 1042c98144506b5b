// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/builder.h"

namespace kasimir {

Coord operator*(const Size& factor, const Coord& coord) {
  KASIMIR_CHECK(!coord.wrap, "a wrapped coordinate cannot be scaled by {}", factor.str());
  Coord scaled = coord;
  for (auto& term : scaled.terms) term.second *= factor;
  scaled.offset = coord.offset * factor;
  return scaled;
}

Coord operator+(Coord a, const Coord& b) {
  KASIMIR_CHECK(!a.wrap && !b.wrap, "wrapped coordinates cannot be added");
  a.terms.insert(a.terms.end(), b.terms.begin(), b.terms.end());
  a.offset += b.offset;
  return a;
}

Coord operator+(Coord a, const SizeSum& offset) {
  a.offset += offset;
  return a;
}

Coord operator-(Coord a, const SizeSum& offset) { return std::move(a) + offset * Size(-1); }

Coord wrapped(Coord coord, const Size& extent) {
  coord.wrap = extent;
  return coord;
}

Coord Draft::fresh(AxisKind kind, const Size& extent) {
  constexpr std::size_t usual = 8;  // what most stages have at most: no memory is moved
  if (stage_.iters.empty()) stage_.iters.reserve(usual);
  stage_.iters.push_back({kind, extent});
  Coord coord;
  coord.terms.emplace_back(static_cast<int>(stage_.iters.size()) - 1, Size(1));
  return coord;
}

Coord Draft::left(AxisKind kind, const Size& extent) {
  Coord coord = fresh(kind, extent);
  stage_.left.push_back({kind, {coord.terms.front().first}});
  return coord;
}

Coord Draft::batch() { return left(AxisKind::batch, Size(Symbol::N)); }

Coord Draft::reduced_batch() { return reduced(AxisKind::batch, Size(Symbol::N)); }

std::vector<Coord> Draft::left_digits(AxisKind kind, const std::vector<Axis>& digits) {
  std::vector<Coord> coords;
  LeftAxis axis{kind, {}};
  for (const Axis& digit : digits) {
    coords.push_back(fresh(digit.kind, digit.extent));
    axis.digits.push_back(coords.back().terms.front().first);
  }
  stage_.left.push_back(std::move(axis));
  return coords;
}

Coord Draft::reduced(AxisKind kind, const Size& extent) {
  Coord coord = fresh(kind, extent);
  stage_.reduced.push_back(coord.terms.front().first);
  return coord;
}

Expr Draft::push(BasicNode<Symbolic> node) {
  constexpr std::size_t usual = 3;
  if (stage_.nodes.empty()) stage_.nodes.reserve(usual);
  stage_.nodes.push_back(std::move(node));
  return {static_cast<int>(stage_.nodes.size()) - 1};
}

Expr Draft::read(int tensor, std::vector<Coord> at) { return push(BasicRead<Symbolic>{tensor, std::move(at)}); }
Expr Draft::constant(Rational value) { return push(Constant{value}); }
Expr Draft::half_pi() { return push(Constant{1, true}); }
Expr Draft::apply(Fn fn, Expr a) { return push(Apply{fn, a.node}); }
Expr Draft::apply(Fn fn, Expr a, Expr b) { return push(Apply{fn, a.node, b.node}); }

int Draft::emit(Expr value, Reduce reduce) {
  KASIMIR_CHECK(value.node + 1 == static_cast<int>(stage_.nodes.size()), "the value is node {} of {}", value.node,
                stage_.nodes.size());
  KASIMIR_CHECK((reduce == Reduce::none) == stage_.reduced.empty(), "{} reduced iterators", stage_.reduced.size());
  stage_.reduce = reduce;
  std::vector<BasicAxis<Symbolic>> axes;
  for (const LeftAxis& axis : stage_.left) {
    Size extent(1);
    for (int digit : axis.digits) extent *= stage_.iters[static_cast<std::size_t>(digit)].extent;
    axes.push_back({axis.kind, extent});
  }
  return builder_->define(std::move(stage_), std::move(axes));
}

int StageBuilder::weight(WeightRole role, const Shape& axes, const Size& fan_in) {
  Tensor tensor;
  int number = 0;
  for (const Tensor& other : graph_->tensors) number += other.role == Role::weight ? 1 : 0;
  tensor.name = fmt::format("w{}", number);
  tensor.role = Role::weight;
  tensor.weight_role = role;
  tensor.fan_in = fan_in;
  for (const Axis& axis : axes) tensor.axes.push_back({axis.kind, axis.extent});
  graph_->tensors.push_back(std::move(tensor));
  return static_cast<int>(graph_->tensors.size()) - 1;
}

int StageBuilder::define(Stage stage, std::vector<BasicAxis<Symbolic>> axes) {
  Tensor tensor;
  tensor.name = fmt::format("t{}", graph_->stages.size());
  tensor.axes = std::move(axes);
  stage.out = static_cast<int>(graph_->tensors.size());
  stage.step = step_;
  graph_->tensors.push_back(std::move(tensor));
  graph_->stages.push_back(std::move(stage));
  return last_ = graph_->stages.back().out;
}

}  // namespace kasimir
