// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"

#include <string>

namespace kasimir {

struct BenchCheck {
  std::string row;          ///< what is printed before the counts
  std::uint64_t first = 0;  ///< attempt to begin with
  std::uint64_t wanted = 0;
  int threads = 1;
  bool json = false;
};

/// Has that many kernels of the sampler checked by their stages in whole numbers (synth/claim_check.h) and prints one
/// line; how far it is goes to stderr. Ctrl-C stops after what is being checked and says where to go on.
/// Returns the exit code: 0 if all agree, 1 if it was stopped, 70 with the kernel's text if one does not agree.
int bench_check(const Sampler& sampler, const BenchCheck& options);

}  // namespace kasimir
