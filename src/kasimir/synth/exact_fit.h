// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/fitter.h"

namespace kasimir {

struct ExactOptions {
  std::int64_t most_nodes = 200'000;  ///< of the search, in all
  double gap = 0.0;                   ///< what may be left of FitObjective::use against the best there is
  /// No symbol with only positive powers is below its value at the largest common ratio (FitSolution::common).
  bool balanced = true;
};

/// The result of exact_fit().
struct ExactFit {
  FitSolution solution;  ///< meaningful if `failure.ok()`
  FitFailure failure;
  double bound = 0.0;  ///< no values that are allowed use more than this: solution.objective.use + gap at most
  std::int64_t nodes = 0;
  /// The search was finished: the solution is the best one to within the gap or, where it failed, there is none.
  bool complete = false;
};

/// The values with the best FitObjective, or certainly none, by branch and bound over the lattices of all symbols at
/// all sites.
///
/// Allowed are values of the lattices that keep every size whole, every volume and every limit of the budget, and, if
/// `balanced`, stay at or above the largest common ratio that FitProblem::solve() found, at sites where that kept the
/// budget: so the balance is the same as the fast solver's. Among them the largest `use` wins, then (with a gap of 0)
/// the smallest `modelled`. With limits at sites only, `use` is the mean of what each site uses, and each is solved on
/// its own; a limit on the sum makes it one search over all sites.
///
/// A box of values is bounded term by term, each at the corner of the box where it is least or most: valid for negative
/// powers too. Limits, lower ones too, cut the box before it is halved.
ExactFit exact_fit(FitProblem& problem, const Budget& budget, const SolverOptions& solver,
                   const ExactOptions& options = {});

}  // namespace kasimir
