// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/native.h"

namespace kasimir {

/// What one core of this machine does at best, measured by a small C program.
struct MachinePeak {
  double vector_operations = 0;  ///< multiply-adds of whole vectors in a second, all operands in registers
  int lanes = 0;                 ///< floats of a vector
  /// Bytes read in a second from an array of so many bytes, the smallest first.
  std::vector<std::pair<std::int64_t, double>> bandwidth;

  [[nodiscard]] double gflops() const { return 2e-9 * lanes * vector_operations; }
  /// Of an array of this size: that of the smallest measured one that is no smaller, else of the largest.
  [[nodiscard]] double bandwidth_of(std::int64_t bytes) const;
};

/// Takes about two seconds. Rejected as run_command. @throws Error (system) if there is no compiler.
Outcome<MachinePeak> measure_peak(const CTarget& target, const NativeOptions& options = {});

}  // namespace kasimir
