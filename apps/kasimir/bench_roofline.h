// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

struct BenchRoofline {
  std::vector<std::string> networks;  ///< of the zoo
  std::int64_t batch = 1;
  double tune_seconds = 0;
  int samples = 50;
  bool json = false;
};

/// Contractions of networks as generated C against what one core of this machine can do at best, which is measured
/// first: a table, or one JSON object per nest. Returns the exit code.
int bench_roofline(const BenchRoofline& options);

}  // namespace kasimir
