// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/training_kernel.h"

#include <memory>
#include <string>

namespace kasimir {

struct TrainingSpeedOptions {
  std::int64_t batch = 128;
  int repeats = 5;           ///< samples of each, at least; 0: compares only
  double min_seconds = 0.2;  ///< goes on sampling until so much time is spent
  std::uint64_t seed = 1;
  double bound = 1e-3;  ///< largest error of a value or gradient, relative to the largest of its tensor
  TrainingKernelOptions compiled = {};
};

/// One step of training through one kernel (forward and backward, no update), by ATen and as compiled C.
struct TrainingSpeed {
  Site site;
  double aten_ms = 0;   ///< median of the processor's time
  double fused_ms = 0;  ///< likewise
  double value_error = 0;     ///< of the output and batch statistics against ATen, relative to the largest value
  double gradient_error = 0;  ///< of the gradients by the input and each weight, likewise
  double compile_seconds = 0;
  std::shared_ptr<TrainingKernel> compiled;
  std::string plan;  ///< nests and methods of both passes
  [[nodiscard]] double speedup() const { return aten_ms / fused_ms; }
};

/// Compares, then times both in turn. Rejected as TrainingKernel::build, and with the rule "training: fused gradients
/// are those of ATen" where an error is above the bound.
Outcome<TrainingSpeed> time_training(const Kernel& kernel, const Site& site, const TrainingSpeedOptions& options);

}  // namespace kasimir
