// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"

#include <string>

namespace kasimir {

struct BenchTraining {
  std::string network = "resnet20";  ///< of the zoo: its sites
  SampleOptions sampling;
  std::uint64_t seed = 1;
  int count = 50;
  int batch = 128;
  double seconds = 0.3;  ///< of samples, for each kernel and site
  std::string kernel;    ///< a file: this kernel instead of sampled ones
  bool plans = false;    ///< print the loop nests and their methods
  bool json = false;
};

/// One training step (forward and backward) through kernels at the sites of a network, as compiled C beside ATen: a
/// table, or one JSON object per kernel and site. Prints as it goes. Returns the exit code.
int bench_training(const BenchTraining& options);

}  // namespace kasimir
