// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"

#include <string>

namespace kasimir {

struct BenchNests {
  std::vector<SiteLoad> loads;
  SampleOptions sampling;
  std::uint64_t seed = 1;
  int count = 50;
  int batch = 1;
  std::string kernel;  ///< a file: this kernel instead of sampled ones
  int samples = 50;    ///< runs of each program
  bool json = false;
};

/// What the nests of kernels take as generated C, one thread, beside what one core can do: a table by kind, where the
/// contractions lie, and the nests that take most, or one JSON object per nest. Returns the exit code.
int bench_nests(const BenchNests& options);

}  // namespace kasimir
