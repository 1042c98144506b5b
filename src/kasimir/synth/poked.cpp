// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/poked.h"

#include <algorithm>
#include <cstring>

namespace kasimir {

Poked::Poked(const BoundGraph& training)
    : graph_(freeze(training)),
      drawn_(graph_.tensors.size()),
      changed_(graph_.tensors.size()),
      now_(graph_.tensors.size(), nullptr),
      moved_(graph_.tensors.size(), false) {
  for (const BoundStage& stage : graph_.stages) programs_.emplace_back(graph_, stage);
}

std::size_t Poked::size(int tensor) const {
  return static_cast<std::size_t>(elements(graph_.tensors[static_cast<std::size_t>(tensor)]));
}

Poked::Values Poked::values(int tensor) const {
  return {drawn_[static_cast<std::size_t>(tensor)].data(), size(tensor)};
}

std::vector<std::uint32_t>& Poked::room(std::vector<std::vector<std::uint32_t>>& in, int tensor) {
  auto& memory = in[static_cast<std::size_t>(tensor)];
  if (memory.empty()) memory.resize(field_room(size(tensor)));
  return memory;
}

void Poked::operands_of(const FieldProgram& program, const std::vector<const std::uint32_t*>& from) {
  operands_.clear();
  for (const int tensor : program.reads()) operands_.push_back(from[static_cast<std::size_t>(tensor)]);
}

void Poked::draw(std::uint64_t seed, bool even_input) {
  std::ranges::fill(now_, nullptr);
  auto& input = room(drawn_, graph_.input);
  const std::size_t count = size(graph_.input);
  fill_values(input_seed(seed, 0), input.data(), count);
  if (even_input) {
    const auto& axes = graph_.tensors[static_cast<std::size_t>(graph_.input)].axes;
    const std::size_t positions = count / static_cast<std::size_t>(axes[1].extent);
    for (std::size_t i = 0; i < count; ++i) input[i] = input[i - i % positions];
  }
  now_[static_cast<std::size_t>(graph_.input)] = input.data();
  WeightTies ties(seed);
  for (std::size_t s = 0; s < programs_.size(); ++s) {
    const FieldProgram& program = programs_[s];
    operands_of(program, now_);
    const std::uint64_t hash = program.hash_operands(operands_);
    for (std::size_t i = 0; i < program.weights().size(); ++i) {
      const FieldWeight& weight = program.weights()[i];
      if (operands_[weight.operand] != nullptr) continue;  // another stage reads it, too
      const int tensor = program.reads()[weight.operand];
      std::uint32_t* const to = room(drawn_, tensor).data();
      fill_values(ties.draw(program, i, hash), to, weight.size);
      operands_[weight.operand] = now_[static_cast<std::size_t>(tensor)] = to;
    }
    const int out = graph_.stages[s].out;
    std::uint32_t* const to = room(drawn_, out).data();
    program.run(operands_, to, scratch_);
    now_[static_cast<std::size_t>(out)] = to;
  }
}

Poked::Values Poked::run(std::span<const Change> changes, std::size_t first, std::size_t last, int wanted) {
  for (std::size_t t = 0; t < now_.size(); ++t) now_[t] = drawn_[t].empty() ? nullptr : drawn_[t].data();
  moved_.assign(moved_.size(), false);
  const auto differs = [&](int tensor, const std::uint32_t* values) {
    const auto t = static_cast<std::size_t>(tensor);
    if (std::memcmp(values, drawn_[t].data(), size(tensor) * sizeof *values) == 0) return;
    now_[t] = values;
    moved_[t] = true;
  };
  for (const Change& change : changes) differs(change.tensor, change.values);
  for (std::size_t s = first; s < last; ++s) {
    const FieldProgram& program = programs_[s];
    const auto is_moved = [&](int tensor) { return moved(tensor); };
    if (std::ranges::none_of(program.reads(), is_moved)) continue;
    operands_of(program, now_);
    const int out = graph_.stages[s].out;
    std::uint32_t* const to = room(changed_, out).data();
    program.run(operands_, to, scratch_);
    differs(out, to);
  }
  return {now_[static_cast<std::size_t>(wanted)], size(wanted)};
}

Poked::Values Poked::run(std::span<const Change> changes) { return run(changes, 0, programs_.size(), graph_.output); }

}  // namespace kasimir
