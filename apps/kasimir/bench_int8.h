// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

struct BenchInt8 {
  std::vector<std::string> networks;  ///< of the zoo, or with a size as in resnet18-32x32
  std::vector<std::int64_t> batches;
  int bits = 8;  ///< of weights and activations
  double seconds = 20;
  double tune_seconds = 0;
  /// Where the quantised programs are written to with default methods, one folder for each network and batch; "": not.
  std::string folder;
  bool json = false;
};

/// Networks as C whose products are of bytes, beside the same networks in floats: a table, or one JSON object per row.
/// Weights are random, steps from their largest magnitudes. Returns the exit code.
int bench_int8(const BenchInt8& options);

}  // namespace kasimir
