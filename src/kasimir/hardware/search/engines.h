// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/referee.h"

#include <memory>

/// The engines behind the table of search.h.
namespace kasimir {

class BranchAndBound;

/// Every choice of bounds in every class of orders, by ProductCosts. @throws Error (input) if the space is too large to
/// tabulate.
SearchAnswer exhaustive_search(const CostModel& model, const SearchOptions& options);

/// Proves its answer, as BranchAndBound says. Where the space is too large to tabulate:
/// `polish_search` with `compulsory_bound`.
SearchAnswer branch_and_bound(const CostModel& model, const SearchOptions& options);

/// Descent on the logarithms of bounds with soft reuse (EvaluationOptions::softness), dual numbers, rounding to
/// divisors, then polish.
SearchAnswer gradient_search(const CostModel& model, const SearchOptions& options);

/// A population with tournaments: crossover by dimension, mutations that move factors and reorder loops (GAMMA, ICCAD
/// 2020); orders are coded as importances that are sorted (NAAS, DAC 2021).
SearchAnswer evolutionary_search(const CostModel& model, const SearchOptions& options);

/// Uniform mappings of the space.
SearchAnswer random_search(const CostModel& model, const SearchOptions& options);

/// Block-coordinate descent from random mappings: for one group of dimensions at a time all choices in all orders.
SearchAnswer polish_search(const CostModel& model, const SearchOptions& options);

/// A search for mappings that is asked several questions about one model: `branch_and_bound` keeps its tables and what
/// it found.
class MappingSearch {
 public:
  /// `model` must outlive it. @throws Error (input) as search_mapping.
  MappingSearch(const CostModel& model, std::string_view engine);
  ~MappingSearch();
  MappingSearch(MappingSearch&&) noexcept;

  /// `options.rules` must be the same each time.
  SearchAnswer run(const SearchOptions& options);

 private:
  SearchAnswer run_once(const SearchOptions& options, std::unique_ptr<BranchAndBound>& proving);

  const CostModel& model_;
  const SearchEngine& engine_;
  std::unique_ptr<BranchAndBound> narrow_, wide_;  // without and with operands that pass levels by
  bool misfit_ = false;                            // nothing fits the narrow space
};

/// No mapping has a lower value: all compute units busy, and each element once over the outermost level's port.
double compulsory_bound(const CostModel& model, const Goal& goal);

}  // namespace kasimir
