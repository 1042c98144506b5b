// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"

#include <functional>
#include <optional>

/// A second opinion on what a sampler says of its kernels. Growth adds up what was worked out once for each step, the
/// budget solver works on sums of monomials in floating point; here a whole kernel's stages are read, site by site, in
/// whole numbers, and by nothing that the sampler uses but the primitives' own rules.
namespace kasimir {

/// What is said of a kernel: it is legal and within the budget with the values of its fits, and costs that much.
struct KernelClaim {
  Kernel kernel;
  /// By CostKind, then by site: for one use there. Empty where nothing is said.
  std::array<std::vector<double>, cost_kinds> cost;
};

/// What the claim must keep.
struct ClaimRules {
  std::span<const SiteLoad> sites;
  Budget budget;
  std::int64_t most_elements = std::int64_t{1} << 21;  ///< of one tensor for one image
  bool weights_may_depend_on_resolution = false;
};

/// What the stages say against the claim, if anything. By stages in whole numbers, at every site: each free symbol has
/// a value; every extent, coefficient and offset is whole, extents are at least 1; digits multiply to their axis; a
/// tensor is defined once and before it is read, and everything but the output is read: steps, weights, the input; no
/// activation is larger than memory allows; the result is [Co, H, W]; no weight depends on H or W; MACs, parameters and
/// bytes are those that are claimed and within the budget.
std::optional<Rejection> disagreement(const KernelClaim& claim, const ClaimRules& rules);

/// What the sampler says of the kernel in the memory, and what it has to keep.
KernelClaim claim_of(const Sampler& sampler, const SampleMemory& memory);
ClaimRules rules_of(const Sampler& sampler);

struct ClaimCheck {
  std::uint64_t attempts = 0;  ///< so many were drawn, from the first that was asked for
  std::uint64_t agreed = 0;
  std::optional<Rejection> against;  ///< the first disagreement, which ends the check
  std::string kernel;                ///< its text
};

struct CheckOptions {
  std::uint64_t first = 0;   ///< attempt to begin with
  std::uint64_t wanted = 1;  ///< legal kernels to check
  int threads = 1;           ///< changes the speed only
};

/// Checks the sampler's legal kernels in the order of their attempts until so many agree, one does not, or `go_on`,
/// which is asked after some hundred attempts with what was found so far, says no.
ClaimCheck check_claims(const Sampler& sampler, const ClaimRules& rules, const CheckOptions& options,
                        const std::function<bool(const ClaimCheck&)>& go_on);

}  // namespace kasimir
