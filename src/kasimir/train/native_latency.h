// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/tune.h"
#include "kasimir/train/latency.h"

#include <memory>

namespace kasimir {

/// A whole network in float32, with Winograd transforms, may differ by this much more than one kernel.
inline constexpr double native_error_allowance = 10;

/// The largest difference over the largest value; infinite where something is no number or missing.
double relative_error(const std::vector<float>& found, const std::vector<float>& expected);

/// Times networks as generated C, each compiled and in a process of its own, beside the original, which is compiled
/// once. Kernels are compared with the interpreter, and outputs with ATen, before any time is taken.
class NativeBench {
 public:
  /// `original` outlives the bench. @throws Error (system) if there is no such compiler: before hours of training.
  NativeBench(const NetworkPlan& original, int batch, NativeOptions native = {});
  /// From now on networks are tuned before they are measured, the original too: at most so many seconds each.
  void tune_with(TuningCache cache, double seconds);
  ~NativeBench();

  /// Interleaved samples of both. Samples in which a program waited for the processor are set aside, as long as enough
  /// are left. `options.batch` must be the bench's. Rejected with rules "latency: the kernel computes what
  /// it means" and those of NativeNetwork; no time is taken then. @throws Error (input) for other options.
  Outcome<LatencySamples> measure(const NetworkPlan& candidate, const LatencyOptions& options);

 private:
  struct Built;
  Outcome<std::unique_ptr<Built>> build(const NetworkPlan& plan, const LatencyOptions& options);

  const NetworkPlan& original_plan_;
  int batch_;
  NativeOptions native_;
  std::string compiler_;  ///< name and version
  std::unique_ptr<Built> original_;
  TuningCache cache_;
  double tuning_seconds_ = 0;
};

}  // namespace kasimir
