// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/synth/step_facts.h"

#include <tsl/robin_map.h>

#include <memory>
#include <vector>

namespace kasimir {

/// The number of a step's facts in a StepTable.
using StepId = std::int32_t;

/// Facts of steps, each once, and answers to questions about pairs of them, each worked out at first use. Steps that do
/// the same to operands of different shapes are one where the shape does not matter. One thread at a time.
class StepTable {
 public:
  explicit StepTable(SiteSet sites) : sites_(std::move(sites)) {}

  [[nodiscard]] const SiteSet& sites() const { return sites_; }
  StepId intern(StepFacts facts);
  [[nodiscard]] const StepFacts& operator[](StepId id) const { return *facts_[static_cast<std::size_t>(id)]; }
  [[nodiscard]] std::size_t size() const { return facts_.size(); }

  /// `second` after `first` changes nothing. @pre both are views.
  bool undoes(StepId first, StepId second);
  /// The result of `map` is at every site at least as wide as what `other` sums over. @pre both are dense.
  bool wide_as_operand(StepId map, StepId other);
  /// The result of `map` is at every site at least as wide as the result of `other`. @pre both are dense.
  bool wide_as_result(StepId map, StepId other);

 private:
  template <typename Answer>
  bool remember(std::uint64_t question, StepId a, StepId b, Answer answer);
  [[nodiscard]] bool at_least(const Size& a, const Size& b) const;

  struct Mix {
    std::size_t operator()(std::uint64_t key) const { return mix_bits(key); }
  };
  SiteSet sites_;
  std::vector<std::unique_ptr<const StepFacts>> facts_;
  tsl::robin_map<std::uint64_t, StepId, Mix> ids_;
  tsl::robin_map<std::uint64_t, bool, Mix> answers_;
};

}  // namespace kasimir
