// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/cosearch_run.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

/// A comparison of ways to search.
struct CompareWishes {
  std::vector<std::string> methods;  ///< empty: all
  std::vector<std::uint64_t> seeds{1, 2, 3};
  std::vector<std::string> goals;   ///< as CosearchSpec::goal; empty: that of the spec
  double reference_accuracy = 0.1;  ///< of the hypervolume: what counts at all
};

/// Runs every method for every seed and goal at the joint search's budget, trains the finalists of each from random
/// weights, and prints hypervolumes of test accuracy against cost. Every run is a file of the folder: what is there is
/// not run again. @returns the exit code.
int compare_searches(const CosearchSpec& spec, const CompareWishes& wishes, const std::string& folder, bool json);

}  // namespace kasimir
