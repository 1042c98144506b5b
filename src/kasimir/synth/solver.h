// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/cost.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/synth/budget.h"

#include <span>

namespace kasimir {

/// A sum of monomials with everything but the free symbols already a number: what the solver evaluates.
class Polynomial {
 public:
  Polynomial() = default;
  /// @pre every symbol of the sum but the free ones is bound.
  Polynomial(const SizeSum& sum, const Binding& binding);
  [[nodiscard]] double at(std::span<const std::int64_t> free) const;

 private:
  struct Term {
    double factor;
    std::array<std::int8_t, free_symbol_count> powers;
  };
  std::vector<Term> terms_;
};

struct SolverOptions {
  std::int64_t lane = 8;                               ///< free sizes are multiples of it where the site allows
  std::int64_t most_elements = std::int64_t{1} << 21;  ///< of one tensor for one image (Canvas's limit)
};

/// What a kernel costs with a fit: at each site for one use, and summed over the network's sites by count.
struct FitCost {
  std::vector<double> macs;
  std::vector<double> params;
  double total_macs = 0.0;
  double total_params = 0.0;
};

/// Values for the free symbols at every site such that every size is whole, no tensor is too large and the budget is
/// kept: at each site the free widths take the largest common ratio to Co that fits (one ratio for all sites if a limit
/// is absolute), then each is raised while the budget lasts. A Rejection names what binds: "budget: macs at most 0.5"
/// with the nearest value reached. Without free symbols it only checks.
Outcome<FitCost> fit(Kernel& kernel, const Graph& graph, std::span<const SiteLoad> sites, const Budget& budget,
                     const SolverOptions& options);

/// Every symbolic size that must be whole for the stages to be legal, without repeats.
std::vector<Size> whole_sizes(const Graph& graph);

/// Legal values at one site without any budget, near half of Co each, or a Rejection.
Outcome<Binding> any_fit(const Kernel& kernel, const Graph& graph, const Site& site);

}  // namespace kasimir
