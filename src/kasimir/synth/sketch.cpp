// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/sketch.h"

#include "kasimir/synth/replay.h"

#include <algorithm>

namespace kasimir {

Sketch::Sketch(const World& world, std::span<const GrownStep> grown) : output(static_cast<int>(grown.size())) {
  for (const GrownStep& step : grown)
    steps.push_back({world.move(step.written.move).primitive, step.written.arguments, step.operands});
}

void Sketch::insert(int at, std::span<const Step> more) {
  const auto count = static_cast<std::int16_t>(more.size());
  for (Step& step : steps)
    for (std::int16_t& operand : step.operands)
      if (operand > at) operand = static_cast<std::int16_t>(operand + count);
  if (output > at) output += count;
  steps.insert(steps.begin() + at, more.begin(), more.end());
}

void Sketch::redirect(int tensor, int to, int from) {
  for (std::size_t i = static_cast<std::size_t>(from) - 1; i < steps.size(); ++i)
    std::ranges::replace(steps[i].operands, static_cast<std::int16_t>(tensor), static_cast<std::int16_t>(to));
  if (output == tensor) output = to;
}

void Sketch::drop_unread() {
  std::vector<bool> needed(steps.size() + 1, false);
  needed[static_cast<std::size_t>(output)] = true;
  for (std::size_t i = steps.size(); i > 0; --i)
    for (const std::int16_t operand : steps[i - 1].operands)
      if (needed[i] && operand >= 0) needed[static_cast<std::size_t>(operand)] = true;
  std::vector<std::int16_t> number(steps.size() + 1, 0);
  std::size_t kept = 0;
  for (std::size_t i = 1; i <= steps.size(); ++i) {
    if (!needed[i]) continue;
    Step step = steps[i - 1];
    for (std::int16_t& operand : step.operands)
      if (operand >= 0) operand = number[static_cast<std::size_t>(operand)];
    steps[kept++] = step;
    number[i] = static_cast<std::int16_t>(kept);
  }
  output = number[static_cast<std::size_t>(output)];
  steps.resize(kept);
}

void Sketch::substitute(World& world, std::span<const Substitution> by) {
  for (Step& step : steps) step.arguments = world.substituted(step.arguments, by);
}

int Sketch::number_symbols(World& world) {
  Numbering numbers;
  numbers.fill(-1);
  int next = 0;
  bool renamed = false;
  for (const Step& step : steps)
    for (const Argument& argument : world.arguments(step.arguments))
      for_each_size(argument, [&](const Size& size) {
        for (int k = 0; k < free_symbol_count; ++k) {
          int& number = numbers[static_cast<std::size_t>(k)];
          if (!size.has(free_symbol(k)) || number >= 0) continue;
          number = next++;
          renamed = renamed || number != k;
        }
      });
  if (!renamed) return next;
  for (Step& step : steps) {
    std::vector<Argument> arguments = world.arguments(step.arguments);
    for (Argument& argument : arguments) for_each_size(argument, [&](Size& size) { size = renumbered(size, numbers); });
    step.arguments = world.intern(arguments);
  }
  return next;
}

namespace {

/// Takes what can be taken of the sketch. `lost` counts the steps that are left out.
std::int32_t append_all(Growth& growth, const Sketch& sketch, int choice, int most_lost, int& lost) {
  World& world = growth.world();
  growth.begin(choice);
  std::vector<std::int16_t> tensors(sketch.steps.size() + 1, -1);
  tensors[0] = 0;
  lost = 0;
  for (std::size_t i = 0; i < sketch.steps.size(); ++i) {
    const Sketch::Step& step = sketch.steps[i];
    std::array<std::int16_t, 2> operands{-1, -1};
    bool whole = true;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (step.operands[k] < 0) continue;
      operands[k] = tensors[static_cast<std::size_t>(step.operands[k])];
      whole = whole && operands[k] >= 0;
    }
    if (whole) {
      const MoveId move =
          world.apply(step.primitive, shapes_of(world, growth.steps(), operands), step.arguments, choice);
      if (growth.append({move, step.arguments}, operands)) {
        tensors[i + 1] = static_cast<std::int16_t>(growth.steps().size());
        continue;
      }
    }
    if (++lost > most_lost) return growth.last_refusal();
  }
  return no_id;
}

}  // namespace

std::int32_t grow(Growth& growth, Sketch sketch, int choice, const RepairLimits& repair, Rng& rng) {
  World& world = growth.world();
  const GrowthLimits& limits = growth.limits();
  if (sketch.number_symbols(world) > World::most_open) return world.rule_id("moves: a kernel has few free symbols");
  int lost = 0;
  if (const std::int32_t rule = append_all(growth, sketch, choice, repair.most_lost, lost); rule != no_id) return rule;
  const int count = static_cast<int>(growth.steps().size());
  const int more = std::max(growth.steps_to_end(), limits.min_primitives - count);
  if (more > repair.most_grown || count + more > limits.max_primitives)
    return world.rule_id("growth: the length is within its limits");
  if (more > 0 && !growth.complete(rng, more))
    return growth.last_refusal() == no_id ? growth.failure() : growth.last_refusal();
  if (growth.has_idle_pair()) return world.rule_id("growth: no step is made idle by its neighbour");
  // A symbol whose steps are gone would leave a gap.
  Sketch grown(world, growth.steps());
  const Sketch before = grown;
  grown.number_symbols(world);
  if (grown.steps == before.steps) return no_id;
  return append_all(growth, grown, choice, 0, lost);
}

}  // namespace kasimir
