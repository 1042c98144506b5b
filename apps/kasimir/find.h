// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"

#include <string>

namespace kasimir {

struct FindOptions {
  std::string file;
  std::uint64_t most_attempts = 1'000'000;
  std::uint64_t hits = 1;
  int threads = 1;
  bool json = false;
};

/// Draws kernels until one computes the same as the kernel in the file, and prints it. Where `any_length`, lengths from
/// one primitive to two more than the file's kernel has are drawn; else those of the options.
/// @throws Error (unsolved) if the kernel breaks a rule at the sites or the budget, or is not found.
int find_kernel(const std::vector<SiteLoad>& sites, SampleOptions sampling, bool any_length, std::uint64_t seed,
                const FindOptions& options);

}  // namespace kasimir
