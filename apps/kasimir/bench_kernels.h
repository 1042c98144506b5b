// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"

#include <string>

namespace kasimir {

struct BenchKernels {
  std::vector<SiteLoad> loads;
  SampleOptions sampling;
  std::uint64_t seed = 1;
  int count = 50;
  int batch = 1;
  int threads = 1;
  double seconds = 0.3;  ///< of samples, for each kernel and site
  std::string kernel;    ///< a file: this kernel instead of sampled ones
  bool json = false;
};

/// Kernels as generated C beside eager PyTorch and beside the convolution they replace, at every site: a table and
/// rank correlations, or one JSON object per kernel and site. Prints as it goes. Returns the exit code.
int bench_kernels(const BenchKernels& options);

}  // namespace kasimir
