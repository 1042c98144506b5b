// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/descent.h"
#include "kasimir/hardware/search/log_bound.h"

#include <memory>
#include <vector>

namespace kasimir {

/// The engine behind `branch_and_bound`, for several questions about one model: tables are made once, and mappings that
/// one question found are where the next one starts.
///
/// First is decided which loops run over columns and rows, one group of dimensions at a time; then orders of loops
/// level by level, the outermost first. What is not decided yet is relaxed. Each node of this tree is bounded by
/// LogBound, which also drops bounds of loops that no good mapping below the node has; until its turn comes a node has
/// the bound that its parent knows for it. The node with the lowest bound is next, so that all that is open bounds the
/// optimum from below at any time.
class BranchAndBound {
 public:
  /// `model` must outlive it. @throws Error (input) as MappingSpace.
  BranchAndBound(const CostModel& model, const SpaceRules& rules);

  /// `options.rules` are those that the constructor was given.
  SearchAnswer run(const SearchOptions& options);

 private:
  friend class Brancher;

  const CostModel& model_;
  std::shared_ptr<TabulatedSpace> tables_;
  std::vector<PriceForm> forms_;                              // of each choice of keeps
  std::vector<std::vector<std::vector<LevelOrder>>> levels_;  // the same: orders of each level
  std::vector<Mapping> known_;
};

}  // namespace kasimir
