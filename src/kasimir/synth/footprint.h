// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"

namespace kasimir {

/// What running a kernel takes for one image at one site, by stages in order, before any fusion.
struct Footprint {
  std::int64_t peak = 0;   ///< most elements of activations that are needed at one time
  double intensity = 0.0;  ///< multiply-accumulates by elements that are written or are weights
};
/// Rejected as lower_at() rejects.
Outcome<Footprint> footprint(const Kernel& kernel, const Site& site);

}  // namespace kasimir
