// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/evaluate.h"

#include <set>
#include <vector>

/// A model of memories that knows no formula: it walks every iteration of a mapping and keeps sets of elements.
namespace kasimir {

struct OracleCount {
  std::size_t level = 0;
  std::size_t operand = 0;
  double footprint = 0;
  double reads = 0;
  double fills = 0;
  double updates = 0;
  double distinct = 0;
};

class Oracle {
 public:
  Oracle(const CostModel& model, const Mapping& mapping);

  /// Counts of one instance of each level, in the order of the evaluator's entries.
  [[nodiscard]] std::vector<OracleCount> counts() const;

 private:
  using Elements = std::set<std::int64_t>;
  using Indices = std::vector<std::int64_t>;  ///< one per loop

  [[nodiscard]] int level_of(std::size_t loop) const { return mapping_.loops[loop].level; }
  [[nodiscard]] bool spatial(std::size_t loop) const { return mapping_.loops[loop].kind != LoopKind::temporal; }
  [[nodiscard]] bool relevant(std::size_t operand, std::size_t loop) const {
    return model_.problem.relevant(static_cast<int>(operand), mapping_.loops[loop].dim);
  }
  [[nodiscard]] bool keeps(std::size_t operand, int level) const {
    return (mapping_.keeps[operand] >> level & 1U) != 0;
  }

  /// Calls `visit` for all values of the loops that are chosen, in order; the others keep their value in `at`.
  template <typename Choose, typename Visit>
  void walk(Indices& at, std::size_t loop, const Choose& choose, const Visit& visit) const;

  /// Coordinates of the operand at one iteration; elements outside the tensor are left out.
  [[nodiscard]] bool coordinates(std::size_t operand, const Indices& at, std::vector<std::int64_t>& out) const;
  /// Elements of the tile of a level, for given indices of the loops outside of it.
  [[nodiscard]] Elements tile(std::size_t operand, int level, Indices at) const;
  /// What is fetched together: one set of elements after another. `at` fixes the spatial loops outside of the level.
  [[nodiscard]] std::vector<Elements> epochs(std::size_t operand, int level, Indices at) const;
  /// The loops outside of a level whose passes belong to one epoch.
  [[nodiscard]] std::vector<bool> within_epoch(std::size_t operand, int level) const;
  [[nodiscard]] OracleCount count(std::size_t operand, int level) const;

  const CostModel& model_;
  const Mapping& mapping_;
  std::size_t loops_;
  std::vector<std::int64_t> stride_;  ///< of each loop in its dimension
};

}  // namespace kasimir
