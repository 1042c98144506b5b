// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/nba_search.h"

#include <cstdint>
#include <string_view>

namespace kasimir {

/// Ways to search the shapes of a fixed set of chunks by samples, to be compared with solve_nba.
enum class ShapeSearch {
  /// Uniform tiles, then uniform unrolled sizes among those within the tile.
  random,
  /// Auto-NBA's differentiable search as released: a Gumbel-softmax for each parameter of each chunk, hard samples,
  /// loss = bottleneck x product of (1 - p + p) with the first p held constant, Adam with rate 1e-7, betas 0.5 and
  /// 0.999; a sample over the budget gives no step. The rate is so small that nothing is learned.
  das_published,
  /// The same with the rate at 0.05.
  das_faster,
  /// Repaired: each chunk is judged by its own cycles and by its part of an overrun budget, against its own running
  /// mean and spread; and the last 40 % of the evaluations improve the best design, the slowest chunk first, by single
  /// parameters, pairs, and samples of what was learned.
  das_repaired,
};
std::string_view name_of(ShapeSearch method);

struct ShapeSearchOptions {
  ShapeSearch method = ShapeSearch::das_repaired;
  std::size_t evaluations = 2000;  ///< designs costed, the only measure of effort; their iterations per call
  std::uint64_t seed = 1;
};

struct ShapeSearchResult {
  bool found = false;     ///< a design within the budget
  NbaDesign design;       ///< the best one
  double bottleneck = 0;  ///< its cycles per frame, with the shared memory
  std::size_t evaluations = 0;
  std::vector<double> best_after;  ///< the best so far after each evaluation; infinity before the first that fits
  double largest_logit = 0;        ///< how far the distribution moved: the largest change of a logit
};

/// Runs a search. Deterministic for a seed. @throws Error (input) as solve_nba; for 0 evaluations.
ShapeSearchResult search_shapes(const NbaQuestion& question, const ShapeSearchOptions& options);

/// One line of a comparison: the mean over seeds of best / optimum.
struct SearchGap {
  ShapeSearch method;
  double mean_gap = 0, worst_gap = 0;  ///< of bottleneck / optimum - 1 over the runs that found a design
  std::size_t runs = 0, failed = 0;    ///< failed: no design within the budget
};
/// Runs each method on each question with seeds 1 .. seeds. The optimum is solve_nba's.
std::vector<SearchGap> compare_searches(const std::vector<NbaQuestion>& questions,
                                        const std::vector<ShapeSearch>& methods, std::size_t evaluations,
                                        std::size_t seeds);

}  // namespace kasimir
