// SPDX-License-Identifier: Apache-2.0
// The part of growth that takes steps which were decided elsewhere: of composites, and of kernels that are rewritten.
#include "kasimir/synth/growth.h"
#include "kasimir/synth/normal_form.h"

#include <bit>

namespace kasimir {

void Growth::begin(int choice) {
  failure_ = last_refusal_ = no_id;
  choice_ = choice;
  clear(required_.empty() ? 0 : (std::uint64_t{1} << required_.size()) - 1);
}

bool Growth::append(WrittenMove written, Tensors operands) {
  const Move move = world_->move(written.move);
  if (!move.legal()) return refuse(move.rule);
  if (state_.nodes > limits_->max_primitives) return refuse(rules_.length);
  if (repeats(move, written.move, operands)) return refuse(rules_.repeat);
  if (idles_by_sign(written.move, operands)) return refuse(rules_.idle);
  if (width_after(operands) > limits_->max_width) return refuse(rules_.width);
  if (const std::int32_t rule = too_dear(move); rule != no_id) return refuse(rule);
  state_.missing = missing_after(move);
  take(written, move, operands);
  return true;
}

bool Growth::complete(Rng& rng, int steps) {
  wanted_ = steps;
  retreats_ = 0;
  return grow(rng, steps);
}

int Growth::steps_to_end() const { return std::max(distance(true, nullptr, {-1, -1}), std::popcount(state_.missing)); }

bool Growth::has_idle_pair() const {
  if (!limits_->local_rules) return false;
  std::array<int, GrowthLimits::most_primitives + 1> reads{};
  for (const GrownStep& step : steps())
    for (const std::int16_t operand : step.operands)
      if (operand >= 0) ++reads[static_cast<std::size_t>(operand)];
  return std::ranges::any_of(steps(), [&](const GrownStep& step) {
    return std::ranges::any_of(step.operands, [&](std::int16_t operand) {
      return operand > 0 && reads[static_cast<std::size_t>(operand)] == 1 &&
             wastes(state_.steps[static_cast<std::size_t>(operand) - 1].written.move, step.written.move);
    });
  });
}

/// All steps of a composite, or none: the number that were taken. Only the last one is asked whether the output is
/// still within reach.
int Growth::try_composite(Rng& rng, std::size_t number, int left) {
  const auto none = [&](std::int32_t rule) { return static_cast<int>(refuse(rule)); };
  if (composites_.least_steps(number) > left) return none(rules_.room);
  const std::int16_t tensor = draw_tensor(rng);
  DrawnComposite drawn;
  const ShapeId shape = state_.node[static_cast<std::size_t>(tensor)].shape;
  if (!composites_.draw(number, rng, *world_, shape, state_.open_symbols, drawn)) return none(rules_.channels);
  if (drawn.count > left) return none(rules_.room);
  save(before_composite_);
  before_composite_.left = left;
  const auto first = static_cast<std::int16_t>(state_.nodes - 1);
  for (int i = 0; i < drawn.count; ++i) {
    const DrawnComposite::Step& step = drawn.steps[static_cast<std::size_t>(i)];
    Tensors operands = step.operands;
    for (std::int16_t& operand : operands)
      operand = operand == 0 ? tensor : static_cast<std::int16_t>(operand < 0 ? -1 : operand + first);
    const WrittenMove written{world_->apply(step.primitive, shapes_of(operands), step.arguments, choice_),
                              step.arguments};
    const bool last = i + 1 == drawn.count;
    const bool idle = !last && world_->move(written.move).legal() && idles_by_pair(written.move, operands);
    if (idle) refuse(rules_.idle);
    if (!idle && (last ? consider(written, operands, left - i) : append(written, operands))) continue;
    restore(before_composite_);
    return 0;
  }
  // There is no way back into the middle of a composite.
  for (int k = left - 1; k > left - drawn.count; --k)
    if (k <= static_cast<int>(snapshots_.size())) snapshots_[static_cast<std::size_t>(k) - 1] = before_composite_;
  composite_steps_ += drawn.count;
  return drawn.count;
}

}  // namespace kasimir
