// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/fitter.h"
#include "unit/synth/loads.h"

#include <string>

namespace kasimir::testing {

/// cost = 640 * x0 parameters and 64 times that MACs at each of some sites with Ci = Co.
struct ByHand {
  explicit ByHand(std::vector<SiteLoad> sites, std::uint8_t symbols = 1) : loads(std::move(sites)) {
    problem.set_sites(loads);
    problem.reset(symbols);
  }
  /// The same factor at every site.
  void cost(CostKind kind, const Powers& powers, double factor) {
    problem.add_cost(kind, powers, std::vector<double>(loads.size(), factor));
  }
  void whole(const Powers& powers, std::int64_t num, std::int64_t den) {
    problem.require_whole(powers, std::vector<std::int64_t>(loads.size(), num),
                          std::vector<std::int64_t>(loads.size(), den));
  }
  std::string solve(const std::string& text, const SolverOptions& options = {}) {
    const Budget budget = Budget::parse(text);
    const FitFailure failure = problem.solve(budget, options, solution);
    return failure.ok() ? "solved" : explain(failure, budget, loads, options).str();
  }
  [[nodiscard]] std::int64_t x(std::size_t symbol, std::size_t site = 0) const { return solution.values[site][symbol]; }

  std::vector<SiteLoad> loads;
  FitProblem problem;
  FitSolution solution;
};

inline constexpr Powers x0{1};
inline constexpr Powers x1{0, 1};
inline constexpr Powers one{};
inline const SiteLoad plain = conv_load({64, 64, 8, 8, 1});  // 36,864 parameters, 64 times as many MACs

}  // namespace kasimir::testing
