// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/hardware/evaluate.h"

#include <cstdint>
#include <vector>

/// Mapping spaces: which mappings of a problem on an architecture a search may pick.
namespace kasimir {

/// Narrows what may happen at one level. What is not mentioned stays free.
struct SlotRule {
  int level = 0;
  LoopKind kind = LoopKind::temporal;
  int dim = 0;
  std::int64_t bound = 1;  ///< the one bound that is allowed here
};

/// Constraints of a dataflow.
struct SpaceRules {
  std::vector<SlotRule> bounds;
  /// Operands may pass by levels that could keep them: every subset of the architecture's `keeps` is tried. Otherwise
  /// each operand is kept wherever it can be.
  bool search_keeps = false;
};

/// `Mapping::keeps`.
using Keeps = std::array<std::uint16_t, max_operands>;

/// A place for loops: one level's time, columns or rows. At most one loop for each dimension.
struct LoopSlot {
  std::int8_t level = 0;
  LoopKind kind = LoopKind::temporal;
  std::uint32_t dims = 0;  ///< that may have a loop here
};

/// Bounds of one dimension, slot by slot; their product is the dimension's size.
using FactorVector = std::vector<std::int64_t>;

/// The factorisations, orders and keeps that rules and architecture allow. Bounds divide sizes without rest.
/// Capacities are not looked at here: they decide whether an evaluation fits.
class MappingSpace {
 public:
  /// @throws Error (input) if a rule names a slot, dimension or bound that the model does not have, no bounds are left
  /// for a dimension, or there are more than a million.
  MappingSpace(const CostModel& model, const SpaceRules& rules);

  /// Outermost first; a level's time before its columns and rows.
  [[nodiscard]] const std::vector<LoopSlot>& slots() const { return slots_; }
  /// All factor vectors of a dimension, in lexical order.
  [[nodiscard]] const std::vector<FactorVector>& factors(int dim) const {
    return factors_[static_cast<std::size_t>(dim)];
  }
  /// What each operand may be kept in: values of `Mapping::keeps`, the fullest first.
  [[nodiscard]] const std::vector<Keeps>& keeps() const { return keeps_; }
  /// Factorisations of all dimensions times keeps, without orders.
  [[nodiscard]] double size() const;

  /// A mapping from one factor vector for each dimension. `order[slot]` lists dimensions from the outermost inwards;
  /// those it leaves out come outside in the order of the problem.
  [[nodiscard]] Mapping build(const std::vector<const FactorVector*>& factors,
                              const std::vector<std::vector<int>>& order, const Keeps& keeps) const;
  /// Uniform over factor vectors, orders and keeps.
  [[nodiscard]] Mapping random(Rng& rng) const;

 private:
  std::vector<LoopSlot> slots_;
  std::vector<std::vector<FactorVector>> factors_;
  std::vector<Keeps> keeps_;
};

}  // namespace kasimir
