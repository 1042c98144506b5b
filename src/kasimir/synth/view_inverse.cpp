// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/view_inverse.h"

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

using Read = BasicRead<Symbolic>;
/// One number per axis kind.
using Point = std::array<std::int64_t, axis_kind_count>;

std::int64_t& at(Point& point, AxisKind kind) { return point[static_cast<std::size_t>(kind)]; }
std::int64_t at(const Point& point, AxisKind kind) { return point[static_cast<std::size_t>(kind)]; }

/// A view at one site: how the coordinates of its operand follow from those of its result.
class BoundView {
 public:
  /// Nothing if some size is not whole.
  static std::optional<BoundView> make(const StepFacts& facts, const Binding& binding) {
    BoundView view;
    view.touched_ = facts.touched();
    const Stage& stage = facts.copies->stage;
    for (const auto& iter : stage.iters) {
      const auto extent = iter.extent.extent_at(binding);
      if (!extent.ok()) return std::nullopt;
      view.iters_.push_back(*extent);
    }
    for (const LeftAxis& axis : stage.left) {
      view.left_.push_back(axis);
      std::int64_t extent = 1;
      for (int digit : axis.digits) extent *= view.iters_[static_cast<std::size_t>(digit)];
      at(view.result_, axis.kind) = extent;
    }
    const auto& read = std::get<Read>(stage.nodes[0]);
    for (std::size_t a = 0; a < read.at.size(); ++a)
      if (!view.add(facts.copies->operand[a], read.at[a], binding)) return std::nullopt;
    return view;
  }

  [[nodiscard]] const Point& result() const { return result_; }    ///< extents, 0 where there is no such axis
  [[nodiscard]] const Point& operand() const { return operand_; }  ///< the same of the operand

  /// The operand's coordinates of an element of the result; nothing if it is outside, and so zero.
  [[nodiscard]] std::optional<Point> follow(const Point& to) const {
    std::vector<std::int64_t> iter(iters_.size(), 0);
    for (const LeftAxis& axis : left_) {
      std::int64_t rest = at(to, axis.kind);
      for (std::size_t d = axis.digits.size(); d-- > 0;) {
        const auto digit = static_cast<std::size_t>(axis.digits[d]);
        iter[digit] = rest % iters_[digit];
        rest /= iters_[digit];
      }
    }
    Point from{};
    for (const Axis& axis : axes_) {
      std::int64_t place = axis.offset;
      for (const auto& [i, factor] : axis.terms) place += factor * iter[static_cast<std::size_t>(i)];
      if (axis.wrap != 0) place = ((place % axis.wrap) + axis.wrap) % axis.wrap;
      if (place < 0 || place >= at(operand_, axis.kind)) return std::nullopt;
      at(from, axis.kind) = place;
    }
    return from;
  }

 private:
  struct Axis {
    AxisKind kind;
    std::vector<std::pair<int, std::int64_t>> terms;
    std::int64_t offset;
    std::int64_t wrap;  ///< 0: none
  };

  bool add(const BasicAxis<Symbolic>& axis, const Coord& coord, const Binding& binding) {
    const auto extent = axis.extent.extent_at(binding);
    if (!extent.ok()) return false;
    at(operand_, axis.kind) = *extent;
    Axis bound{axis.kind, {}, 0, 0};
    const Rational offset = coord.offset.at(binding);
    if (!offset.whole()) return false;
    bound.offset = offset.num();
    for (const auto& [iter, factor] : coord.terms) {
      const Rational value = factor.at(binding);
      if (!value.whole()) return false;
      bound.terms.emplace_back(iter, value.num());
    }
    if (coord.wrap) bound.wrap = coord.wrap->at(binding).num();
    axes_.push_back(std::move(bound));
    return true;
  }

  AxisMask touched_ = 0;
  std::vector<std::int64_t> iters_;
  std::vector<LeftAxis> left_;
  std::vector<Axis> axes_;
  Point result_{};
  Point operand_{};
};

/// Follows every element along the axes that the views touch; along the others both pass it on.
bool returns(const BoundView& first, const BoundView& second, AxisMask touched) {
  std::vector<AxisKind> kinds;
  for (int k = 0; k < axis_kind_count; ++k)
    if ((touched & axis_bit(static_cast<AxisKind>(k))) != 0) kinds.push_back(static_cast<AxisKind>(k));
  for (AxisKind kind : kinds)
    if (at(second.result(), kind) != at(first.operand(), kind) ||
        at(second.operand(), kind) != at(first.result(), kind))
      return false;
  Point point{};
  while (true) {
    const auto middle = second.follow(point);
    if (!middle) return false;
    const auto back = first.follow(*middle);
    if (!back || *back != point) return false;
    std::size_t k = 0;
    while (k < kinds.size() &&
           (at(second.result(), kinds[k]) == 0 || ++at(point, kinds[k]) == at(second.result(), kinds[k])))
      at(point, kinds[k++]) = 0;
    if (k == kinds.size()) return true;
  }
}

std::optional<bool> returns_at(const StepFacts& first, const StepFacts& second, const Binding& binding) {
  const auto a = BoundView::make(first, binding);
  const auto b = BoundView::make(second, binding);
  if (!a || !b) return std::nullopt;
  return returns(*a, *b, first.touched() | second.touched());
}

bool uses(const StepFacts& facts, Symbol symbol) {
  const auto in_extent = [&](const auto& axis) { return axis.extent.has(symbol); };
  return std::ranges::any_of(facts.copies->operand, in_extent) ||
         std::ranges::any_of(facts.copies->stage.iters, in_extent);
}

/// A number by which extents are divided: what is a multiple of it makes them whole.
std::int64_t divisor(const StepFacts& facts) {
  std::int64_t common = 1;
  const auto add = [&](const auto& axis) { common = std::lcm(common, axis.extent.coefficient().den()); };
  std::ranges::for_each(facts.copies->operand, add);
  std::ranges::for_each(facts.copies->stage.iters, add);
  return common;
}

}  // namespace

bool undoes(const StepFacts& first, const StepFacts& second, const SiteSet& sites) {
  if (first.in != second.out || first.out != second.in) return false;
  const auto either = [&](Symbol symbol) { return uses(first, symbol) || uses(second, symbol); };
  bool free = false;
  for (int i = 0; i < free_symbol_count; ++i) free = free || either(free_symbol(i));
  for (Binding binding : sites.bindings()) {
    for (Symbol symbol : choice_symbols)
      if (!binding.has(symbol) && either(symbol)) return false;
    if (!free) {
      if (!returns_at(first, second, binding).value_or(false)) return false;
      continue;
    }
    std::int64_t multiple = std::lcm(divisor(first), divisor(second));
    for (Symbol symbol : choice_symbols)
      if (binding.has(symbol)) multiple = std::lcm(multiple, binding[symbol]);
    int decided = 0;
    for (std::int64_t times : {2, 3, 5, 7}) {
      for (int i = 0; i < free_symbol_count; ++i) binding.set(free_symbol(i), multiple * (times + 2 * i));
      const auto here = returns_at(first, second, binding);
      if (here && !*here) return false;
      decided += here ? 1 : 0;
    }
    // One value alone could make a coincidence look like a law.
    if (decided < 2) return false;
  }
  return !sites.bindings().empty();
}

}  // namespace kasimir
