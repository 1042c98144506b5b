// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/kernelzoo/entry.h"
#include "kasimir/network/sites.h"
#include "kasimir/synth/budget.h"

/// What is worked out of an entry instead of being believed.
namespace kasimir::kernelzoo {

/// A kernel in place of convolutions of a network.
struct InNetwork {
  Kernel kernel;  ///< with values for its free sizes at all sites
  std::vector<Site> sites;
  std::int64_t macs = 0;  ///< of the whole network for one image
  std::int64_t params = 0;
  std::int64_t original_macs = 0;
  std::int64_t original_params = 0;

  [[nodiscard]] double macs_ratio() const { return static_cast<double>(macs) / static_cast<double>(original_macs); }
  [[nodiscard]] double params_ratio() const {
    return static_cast<double>(params) / static_cast<double>(original_params);
  }
};

/// The kernel in the network that a result names. Free sizes keep the values that the kernel has at all sites, or get
/// some within the budget. Rejected where the kernel is not legal at a site, or no values keep the budget.
/// @throws Error (input) for a network that cannot be built.
Outcome<InNetwork> in_network(const Kernel& kernel, const Result& where, const Budget& budget = {});

/// Equal for kernels that compute the same (synth/small_site.h); what a study calls a trial's hash.
/// @throws Error (input) if the kernel is not legal at any small site.
std::string fingerprint_of(const Kernel& kernel);

/// Works out what the file claims. @throws Error (input): the file's name is not the kernel's, another fingerprint,
/// a result in whose network the kernel is not legal or costs something else.
void check_entry(const Entry& entry);

}  // namespace kasimir::kernelzoo
