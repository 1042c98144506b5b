// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/work.h"

#include <span>

/// The latency of generated C before it is compiled: every kind of work at a rate of its own. It decides what is worth
/// a measurement; what counts is measured.
namespace kasimir {

struct LatencyModel {
  WorkCounts seconds_per{};  ///< seconds that one unit of each kind takes; none is negative

  /// Of one run, in seconds.
  [[nodiscard]] double predict(const WorkCounts& counts) const;
};

/// A program whose time is known.
struct TimedWork {
  WorkCounts counts{};
  double seconds = 0;
};

/// The model whose relative errors have the least sum of squares (non-negative least squares). At least as many samples
/// as kinds of work, all with positive times: a failed check otherwise.
LatencyModel fit_latency_model(std::span<const TimedWork> samples);

/// Constants fitted by `kasimir bench kernels` on the machine of docs/results.md (an AMD EPYC core with
/// AVX-512). Elsewhere, only ratios of its predictions are of use.
LatencyModel reference_latency_model();

}  // namespace kasimir
