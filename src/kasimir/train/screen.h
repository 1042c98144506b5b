// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/data/image_set.h"
#include "kasimir/network/plan.h"
#include "kasimir/train/machine.h"

#include <optional>
#include <string>
#include <vector>

namespace kasimir {

struct ScreenOptions {
  std::uint64_t seed = 1;
  double variance_low = 1e-3;  ///< of a kernel's output, relative to the original convolution's there
  double variance_high = 1e3;
  double slowest = 10;            ///< training step, relative to the original network's
  std::int64_t memory_limit = 0;  ///< bytes of tensors in one step; 0: none
  Device device = Device::cpu;
};

struct SiteSignal {
  std::string layer;
  double variance = 0;           ///< of the kernel's output
  double original_variance = 0;  ///< of the convolution's
};

/// What one step of training without learning shows.
struct ScreenResult {
  /// Rules: "screen: the output is finite", "screen: the gradients are finite", "screen: every weight has a gradient",
  /// "screen: the signal's variance is kept", "screen: a training step is not too slow", "screen: memory".
  std::optional<Rejection> rejected;
  std::vector<SiteSignal> signals;
  double seconds_per_image = 0;  ///< of a training step, second run
  double original_seconds_per_image = 0;
  std::int64_t step_bytes = 0;  ///< peak of tensors in main memory

  [[nodiscard]] bool ok() const { return !rejected; }
};

/// Runs a forward and a backward pass in training mode on all of these images (64 to 128 real ones) and looks at
/// what comes out.
ScreenResult screen(const NetworkPlan& plan, const ImageSet& images, const ScreenOptions& options = {});

}  // namespace kasimir
