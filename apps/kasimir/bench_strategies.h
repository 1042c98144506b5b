// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

struct BenchStrategies {
  std::string table;                    ///< a file of kernels that were trained (strategy_table.h)
  std::string study;                    ///< .. or the study that they were trained in
  std::string write;                    ///< a file for the table of that study; nothing is compared
  std::vector<std::string> strategies;  ///< empty: all
  bool without_scores = false;          ///< strategies are not told of zero-cost scores
  int repeats = 20;
  int trials = 150;
  int threads = 1;
  std::uint64_t seed = 1;
  bool json = false;
};

/// Lets every strategy search the table, each repetition with random choices of its own, and prints how the hypervolume
/// of accuracy, MACs and parameters grows with the number of trials. Returns the exit code.
int bench_strategies(const BenchStrategies& options);

}  // namespace kasimir
