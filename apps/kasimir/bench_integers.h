// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

struct BenchIntegers {
  std::string network = "resnet20";
  std::string data = "fashion-mnist";  ///< as for load_dataset: its test images are computed
  std::string weights;                 ///< of the network without kernels; empty: random ones
  std::size_t kernels = 20;            ///< networks with a sampled kernel in place of the convolutions
  std::int64_t images = 1000;          ///< for each network
  std::vector<int> bits{8, 6, 4};
  std::string folder;  ///< of what is done: the same command goes on; empty: nothing is kept
  std::uint64_t seed = 1;
  bool json = false;
};

/// Inference in integers beside the same rules in double precision, score by score: a network of the zoo and networks
/// with sampled kernels, each place with bits drawn from a list, steps from ranges on training images. Random weights
/// have statistics of training images. Returns the exit code: 70 where any score differs, 130 where it was stopped.
int bench_integers(const BenchIntegers& options);

}  // namespace kasimir
