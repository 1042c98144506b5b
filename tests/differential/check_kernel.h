// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"
#include "kasimir/train/aten.h"

#include <cstdint>
#include <string>

namespace kasimir {

/// How far ATen is from the interpreter for one kernel, relative to the largest value or slope that occurs anywhere.
struct KernelDifference {
  double value = 0;     ///< of the output
  double gradient = 0;  ///< of the directional derivatives, one direction per input and weight
  double frozen = 0;    ///< of the output with stored statistics
  std::string reason;   ///< why the kernel could not be run; empty where it was

  [[nodiscard]] bool within(double bound) const {
    return reason.empty() && value <= bound && gradient <= bound && frozen <= bound;
  }
};

/// Runs the kernel at the site in double precision: by the interpreter as it is written, and by ATen with views
/// inlined, with and without peepholes. Gradients are compared along random directions with dual numbers, which are
/// exact.
KernelDifference check_kernel(const Kernel& kernel, const Site& site, std::int64_t batch, std::uint64_t seed,
                              const Peepholes& peepholes = {});

}  // namespace kasimir
