// SPDX-License-Identifier: Apache-2.0
// The part of growth that brings a kernel to its end.
#include "kasimir/synth/growth.h"

#include <algorithm>

namespace kasimir {

/// Whether `ends` is true of the shapes of some operands that the last step may have after the move, which leaves so
/// many tensors open.
template <typename Ends>
bool Growth::any_last_step(ShapeId result, Tensors operands, int opens, Ends ends) const {
  if (opens > 2) return false;
  if (opens == 1 && ends(Operands{result, no_id})) return true;
  std::array<ShapeId, GrowthLimits::most_primitives + 1> tried;
  std::size_t tries = 0;
  for (int i = 0; i < state_.nodes; ++i) {
    const auto tensor = static_cast<std::int16_t>(i);
    const ShapeId shape = state_.node[static_cast<std::size_t>(i)].shape;
    // A tensor that the move leaves open must be the other operand; where there is none, any earlier one may be.
    const bool may_be = opens == 1 || (is_open(tensor) && tensor != operands[0] && tensor != operands[1]);
    if (!may_be || std::find(tried.begin(), tried.begin() + static_cast<std::ptrdiff_t>(tries), shape) !=
                       tried.begin() + static_cast<std::ptrdiff_t>(tries))
      continue;
    if (ends(Operands{result, shape}) || ends(Operands{shape, result})) return true;
    tried[tries++] = shape;
  }
  return false;
}

/// With one step left after the move: whether that may make the output, as far as shapes tell and the move's stages are
/// not needed. Where a free size may get a value, only trying it tells.
bool Growth::may_end(ShapeId result, Tensors operands, int slack) const {
  bool free = world_->shape(result).free;
  int opens = 1;
  for_each_left(operands, [&](std::int16_t /*tensor*/, const Node& node) {
    ++opens;
    free = free || world_->shape(node.shape).free;
  });
  return (free && slack >= 0) ||
         any_last_step(result, operands, opens, [&](Operands shapes) { return world_->may_end(shapes, choice_); });
}

/// The rule that says why the last step after the move cannot make the output within both bounds, or none.
template <typename Broken>
std::int32_t Growth::cannot_end_now(const Move& move, Tensors operands, int opens, const Broken& broken) {
  std::int32_t rule = opens > 2 ? rules_.reach : rules_.end;
  const bool ends = any_last_step(move.result, operands, opens, [&](Operands shapes) {
    if (!world_->may_end(shapes, choice_)) return false;
    return std::ranges::any_of(world_->closers(shapes, choice_).moves, [&](const WrittenMove& closer) {
      const ShapeId result = world_->move(closer.move).result;
      if (result == no_id || !world_->shape(result).output) return false;
      const Move& last = world_->whole_move(closer.move);
      if (!last.legal()) return false;
      const std::int32_t broken_here = broken(last.bounds);
      if (broken_here == rules_.low) rule = rules_.low;
      return broken_here == no_id;
    });
  });
  return ends ? no_id : rule;
}

/// The rule that says why, after the move, what closes the open tensors does not fit the budget, as far as one step for
/// each tells; or none.
/// `slack`: steps beyond those that are needed at least; they can add to the costs.
std::int32_t Growth::cannot_end(MoveId id, Tensors operands, int left, int slack) {
  const Move move = world_->move(id);
  const std::size_t n = static_cast<std::size_t>(bounded_costs * world_->lanes());
  for (std::size_t i = 0; i < 2 * n; ++i) scratch_[i] = bounds_[i] + move.bounds[i];
  const auto broken = [&](const float* more) {
    int beyond = 0;
    int below = 0;
    for (std::size_t i = 0; i < n; ++i) beyond += scratch_[i] + more[i] > lines_->high[i] ? 1 : 0;
    for (std::size_t i = 0; slack == 0 && i < n; ++i) below += scratch_[n + i] + more[n + i] < lines_->low[i] ? 1 : 0;
    return beyond > 0 ? rules_.end : below > 0 ? rules_.low : no_id;
  };
  std::array<ShapeId, GrowthLimits::most_width + 1> closing;
  std::size_t closings = 0;
  const ShapeFacts* to_match = nullptr;
  bool free = false;
  int opens = 0;
  const auto add = [&](ShapeId shape) {
    const ShapeFacts& facts = world_->shape(shape);
    ++opens;
    free = free || facts.free;
    if (facts.to_match >= 0) to_match = &facts;
    if (facts.least_steps > 0) closing[closings++] = shape;
  };
  add(move.result);
  for_each_left(operands, [&](std::int16_t /*tensor*/, const Node& node) { add(node.shape); });
  if (left == 2) {
    const bool reachable = slack >= 0;
    slack = 0;
    const std::int32_t rule = cannot_end_now(move, operands, opens, broken);
    if (rule == no_id) return no_id;
    if (!reachable) return rules_.reach;
    if (!free) return rule;
    if (to_match == nullptr) return no_id;  // shape matching may help: only trying it tells
    closings = 0;
  }
  for (std::size_t k = 0; k < closings; ++k) {
    const Closers& closers = world_->closers({closing[k], no_id}, choice_);
    for (std::size_t i = 0; i < 2 * n; ++i) scratch_[i] += closers.bounds[i];
  }
  const std::int32_t rule = broken(none_.data());
  if (rule != no_id || to_match == nullptr || slack > 0) return rule;
  // What lacks rows or columns is broadcast onto a tensor as wide as the output, and its symbol then has that value.
  std::fill_n(scratch_.begin(), n, 0.0F);
  for (const GrownStep& step : steps()) world_->add_matched(step.written.move, *to_match, scratch_.data());
  world_->add_matched(id, *to_match, scratch_.data());
  return broken(none_.data());
}

/// The operands that a closing step may have, in random order: open tensors alone, in pairs, and with an earlier tensor
/// that has the output's shape or can be broadcast onto it.
std::size_t Growth::closing_operands(Rng& rng, std::array<Tensors, most_closing>& all) const {
  std::size_t count = 0;
  const auto add = [&](std::int16_t a, std::int16_t b) {
    if (count < most_closing) all[count++] = {a, b};
  };
  for (const std::int16_t a : open()) {
    add(a, -1);
    for_each_left({a, -1}, [&](std::int16_t b, const Node& /*node*/) { add(a, b); });
  }
  // A partial tensor that is alone needs another to be broadcast onto; elsewhere an earlier one is a matter of chance.
  const std::int16_t last = open().back();
  const bool partial = !state_.node[static_cast<std::size_t>(last)].full;
  const auto first = static_cast<int>(rng.below(static_cast<std::uint64_t>(state_.nodes)));
  int others = partial ? 4 : rng.chance(0.25) ? 1 : 0;
  for (int i = 0; i < state_.nodes && others > 0; ++i) {
    const auto other = static_cast<std::int16_t>((first + i) % state_.nodes);
    const Node& node = state_.node[static_cast<std::size_t>(other)];
    if (other == last || (partial && (!node.full || node.least_steps > 0))) continue;
    --others;
    add(last, other);
    if (!partial) add(other, last);
  }
  for (std::size_t i = count; i > 1; --i) std::swap(all[i - 1], all[rng.below(i)]);
  return count;
}

/// A step that comes nearer to the output, from all that there are.
bool Growth::try_closing(Rng& rng, int left) {
  std::array<Tensors, most_closing> all;
  const std::size_t count = closing_operands(rng, all);
  for (std::size_t k = 0; k < count; ++k) {
    const Closers& closers = world_->closers(shapes_of(all[k]), choice_);
    const std::size_t size = closers.moves.size();
    if (size > 0) {
      const auto at = static_cast<float>(rng.unit());
      const auto first = static_cast<std::size_t>(std::ranges::upper_bound(closers.until, at) - closers.until.begin());
      for (std::size_t i = 0; i < size; ++i)
        if (consider(closers.moves[(first + i) % size], all[k], left)) return true;
    }
    for (const Closers::Match& match : closers.matches) {
      const Draw drawn = draw({&match.offer, 1}, rng);
      if (substitute_and_consider(drawn.substitutions, match.primitive, world_->intern(drawn.arguments), all[k], left))
        return true;
    }
  }
  return false;
}

}  // namespace kasimir
