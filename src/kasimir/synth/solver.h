// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/cost.h"
#include "kasimir/kernel/kernel.h"
#include "kasimir/synth/fitter.h"

#include <optional>
#include <span>

namespace kasimir {

/// What a kernel costs with a fit: at each site for one use, and summed over the network's sites by count.
struct FitCost {
  std::vector<double> macs;
  std::vector<double> params;
  std::vector<double> bytes;
  double total_macs = 0.0;
  double total_params = 0.0;
  double total_bytes = 0.0;
  FitObjective objective;
};

/// Values for the free symbols at every site such that every size is whole, no tensor is too large and the budget is
/// kept, as FitProblem::solve() finds them; they replace the kernel's fits. A Rejection names what binds: "budget: macs
/// at most 0.5" with the nearest value reached. Without free symbols it only checks.
Outcome<FitCost> fit(Kernel& kernel, const Graph& graph, std::span<const SiteLoad> sites, const Budget& budget,
                     const SolverOptions& options);

/// Legal values at one site without any budget, near half of Co each, or a Rejection.
Outcome<Binding> any_fit(const Kernel& kernel, const Graph& graph, const Site& site);

/// The kernel as numbers at the sites. A Rejection if a size without free symbols is not whole at one of them.
std::optional<Rejection> fill(FitProblem& problem, const Kernel& kernel, const Graph& graph,
                              std::span<const SiteLoad> sites);

/// Every symbolic size that must be whole for the stages to be legal, without repeats.
std::vector<Size> whole_sizes(const Graph& graph);

/// The exponents of the free symbols in a size, and the rest of it.
Powers free_powers(const Size& size);
Size without_free_symbols(const Size& size);

/// A size without its free symbols as fractions, one per binding, for FitProblem::require_whole(). Not in lowest terms.
struct WholeParts {
  std::vector<std::int64_t> num, den;
};
/// A Rejection if a number does not fit in 64 bits or is below 1.
Outcome<WholeParts> whole_parts(const Size& size, std::span<const Binding> bindings);

}  // namespace kasimir
