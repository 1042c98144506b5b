// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/exact_fit.h"

#include "kasimir/synth/box_search.h"

#include <algorithm>
#include <limits>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

/// Whether the limits at one site are kept there.
bool keeps_limits_at(const FitProblem& problem, const Budget& budget, const FitSolution& solution, std::size_t site) {
  return std::ranges::all_of(all_cost_kinds, [&](CostKind kind) {
    const Limit& limit = budget[kind];
    if (!limit.relative) return true;
    const double share = solution.at(kind, site) / problem.replaced(limit, kind, site);
    return !(limit.low > 0.0 && share < limit.low * (1 - limit_tolerance)) &&
           !(limit.high < infinity && share > limit.high * (1 + limit_tolerance));
  });
}

/// All sites if a limit ties them, else each alone.
std::vector<SiteGroup> groups_of(const FitProblem& problem, const Budget& budget, const FitSolution& start,
                                 const FitFailure& failure) {
  const std::size_t sites = problem.loads().size();
  const bool fits = failure.why != FitFailure::Why::no_value && failure.why != FitFailure::Why::memory;
  std::vector<SiteGroup> groups;
  const auto ties = [&](CostKind kind) { return budget[kind].given() && !budget[kind].relative; };
  if (std::ranges::any_of(all_cost_kinds, ties)) {
    groups.push_back({{}, failure.ok()});
    for (std::size_t site = 0; site < sites; ++site) groups[0].sites.push_back(site);
    return groups;
  }
  for (std::size_t site = 0; site < sites; ++site)
    groups.push_back({{site}, fits && keeps_limits_at(problem, budget, start, site)});
  return groups;
}

}  // namespace

ExactFit exact_fit(FitProblem& problem, const Budget& budget, const SolverOptions& solver,
                   const ExactOptions& options) {
  ExactFit result;
  result.failure = problem.solve(budget, solver, result.solution);
  result.bound = result.solution.objective.use;
  result.complete = true;
  // Without values some lattice is empty: there is nothing to search.
  if (problem.symbols().empty() || result.solution.values.empty()) return result;
  const auto groups = groups_of(problem, budget, result.solution, result.failure);
  const FitSolution start = result.solution;
  bool all_found = true;
  bool none_possible = false;
  result.bound = 0.0;
  for (std::size_t i = 0; i < groups.size(); ++i) {
    BoxSearch search(problem, budget, static_cast<double>(solver.most_elements), groups[i], start, options);
    search.run((options.most_nodes - result.nodes) / static_cast<std::int64_t>(groups.size() - i));
    result.nodes += search.nodes();
    result.complete = result.complete && search.complete();
    result.bound += search.bound() / static_cast<double>(groups.size());
    all_found = all_found && search.found();
    none_possible = none_possible || (search.complete() && !search.found());
    if (search.found()) search.write(result.solution);
  }
  if (all_found) {
    result.failure = problem.judge(result.solution);
  } else {
    result.solution = start;
    result.bound = start.objective.use;
    result.complete = none_possible;
  }
  return result;
}

}  // namespace kasimir
