// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/semantics.h"

#include <algorithm>
#include <cstring>

namespace kasimir {

std::vector<Semantics::Bypass> Semantics::bypasses(std::span<const GrownStep> steps) const {
  const auto shape = [&](int tensor) {
    return tensor == 0 ? world_->input()
                       : world_->move(steps[static_cast<std::size_t>(tensor) - 1].written.move).result;
  };
  std::vector<Bypass> found;
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (const int operand : steps[i].operands)
      if (operand >= 0 && shape(operand) == shape(static_cast<int>(i) + 1))
        found.push_back({static_cast<int>(i), operand});
  return found;
}

/// The output after the steps from `first` on, of which those are run again that read what is not in its place in
/// `now`. A result that did not change is put back.
const std::uint32_t* Semantics::run_again(std::span<const GrownStep> steps, Tensors& now, std::size_t first) {
  if (other_memory_.size() < result_memory_) other_memory_.resize(result_memory_);
  for (std::size_t i = first; i < steps.size(); ++i) {
    std::array<const std::uint32_t*, 2> operands{};
    bool moved = false;
    for (std::size_t k = 0; k < operands.size(); ++k) {
      if (steps[i].operands[k] < 0) continue;
      const auto operand = static_cast<std::size_t>(steps[i].operands[k]);
      operands[k] = now[operand];
      moved = moved || now[operand] != tensors_[operand];
    }
    now[i + 1] = tensors_[i + 1];
    if (!moved) continue;
    std::uint32_t* const to = other_memory_.data() + (tensors_[i + 1] - memory_.data());
    run(i, operands, to, true);
    if (std::memcmp(to, tensors_[i + 1], chosen_[i]->size * sizeof *to) != 0) now[i + 1] = to;
  }
  return now[steps.size()];
}

bool Semantics::changes_nothing(std::span<const GrownStep> steps, const Bypass& bypass) {
  const auto behind = static_cast<std::size_t>(bypass.step) + 1;
  Tensors now = tensors_;
  const std::uint32_t* const instead = tensors_[static_cast<std::size_t>(bypass.operand)];
  if (std::memcmp(instead, tensors_[behind], chosen_[behind - 1]->size * sizeof *instead) == 0) return true;
  now[behind] = instead;
  const std::uint32_t* const output = run_again(steps, now, behind);
  return std::memcmp(output, tensors_[steps.size()], chosen_[steps.size() - 1]->size * sizeof *output) == 0;
}

/// Marks the output channels that change with the input; whether all have been marked.
bool Semantics::sees_input(std::span<const GrownStep> steps, std::uint64_t seed, std::vector<bool>& sees) {
  const std::size_t inputs = input_size();
  if (other_input_.size() < field_room(inputs)) other_input_.resize(field_room(inputs));
  fill_values(~seed, other_input_.data(), inputs);
  Tensors now = tensors_;
  now[0] = other_input_.data();
  const std::uint32_t* const output = run_again(steps, now, 0);
  const std::size_t positions = chosen_[steps.size() - 1]->size / sees.size();
  for (std::size_t c = 0; c < sees.size(); ++c)
    if (std::memcmp(output + c * positions, tensors_[steps.size()] + c * positions, positions * sizeof *output) != 0)
      sees[c] = true;
  return std::ranges::find(sees, false) == sees.end();
}

Semantics::Waste Semantics::waste_here(std::span<const GrownStep> steps) {
  std::vector<Bypass> idle = bypasses(steps);
  std::vector<bool> sees(static_cast<std::size_t>(place_.binding[Symbol::Co]), false);
  bool blind = true;
  for (int round = 0; round < rounds && (blind || !idle.empty()); ++round) {
    // The first draw is that of the fingerprint, which has often just been evaluated.
    const std::uint64_t seed =
        round == 0 ? fingerprint_seed : mix_bits(fingerprint_seed + static_cast<std::uint64_t>(round - 1));
    // What a maximum over positions hides is seen at once where all of them have the same value.
    const bool even_input = round > 0 && round % 2 == 0;
    if (round > 0 || !is_evaluated(steps)) evaluate(steps, seed, even_input);
    std::erase_if(idle, [&](const Bypass& bypass) { return !changes_nothing(steps, bypass); });
    if (blind) blind = !sees_input(steps, seed, sees);
  }
  return {blind, idle.empty() ? no_id : idle.front().step};
}

Semantics::Waste Semantics::waste(std::span<const GrownStep> steps, int open_symbols) {
  if (!find_place(steps, open_symbols, 0)) return {};
  const Waste found = waste_here(steps);
  if (found.none()) return found;
  // A softmax over the only channel is constant, and a shuffle of g channels by g does nothing.
  other_than_ = place_;
  const bool again = find_place(steps, open_symbols, place_.channels + 1);
  other_than_.reset();
  if (!again) return found;
  const Waste larger = waste_here(steps);
  return {found.blind && larger.blind, found.idle_step == no_id ? no_id : larger.idle_step};
}

}  // namespace kasimir
