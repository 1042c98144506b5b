// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/step_table.h"

#include "kasimir/synth/view_inverse.h"

namespace kasimir {
namespace {

std::uint64_t key_of(const StepFacts& facts) {
  std::uint64_t key = facts.traits;
  const auto add = [&](std::uint64_t value) { key = mix_bits(key ^ value); };
  for (const Form* form : {&facts.form, &facts.result}) {
    add(form->hash);
    for (std::uint8_t i = 0; i < form->symbol_count; ++i) add(form->symbols[i]);
  }
  add(facts.free_in);
  add(facts.in_volume.hash());
  add(facts.out_volume.hash());
  return key;
}

}  // namespace

StepId StepTable::intern(StepFacts facts) {
  const auto [found, fresh] = ids_.emplace(key_of(facts), static_cast<StepId>(facts_.size()));
  if (fresh) facts_.push_back(std::make_unique<const StepFacts>(std::move(facts)));
  return found->second;
}

template <typename Answer>
bool StepTable::remember(std::uint64_t question, StepId a, StepId b, Answer answer) {
  const std::uint64_t key = (question << 62U) | (static_cast<std::uint64_t>(a) << 31U) | static_cast<std::uint64_t>(b);
  if (const auto found = answers_.find(key); found != answers_.end()) return found->second;
  const bool yes = answer();
  answers_.emplace(key, yes);
  return yes;
}

bool StepTable::at_least(const Size& a, const Size& b) const {
  const Size ratio = a / b;
  return !ratio.has_free() && sites_.smallest(ratio) >= 1.0 && (ratio.is_number() || !sites_.bindings().empty());
}

bool StepTable::undoes(StepId first, StepId second) {
  return remember(0, first, second, [&] { return kasimir::undoes((*this)[first], (*this)[second], sites_); });
}

bool StepTable::wide_as_operand(StepId map, StepId other) {
  return remember(1, map, other, [&] { return at_least((*this)[map].out_volume, (*this)[other].in_volume); });
}

bool StepTable::wide_as_result(StepId map, StepId other) {
  return remember(2, map, other, [&] { return at_least((*this)[map].out_volume, (*this)[other].out_volume); });
}

}  // namespace kasimir
