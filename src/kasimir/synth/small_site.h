// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/dependencies.h"
#include "kasimir/kernel/kernel.h"

namespace kasimir {

/// What is found out about a kernel by evaluating its stages at a small site, exactly.
struct Label {
  View view;
  std::uint64_t fingerprint = 0;  ///< equal functions meet (interp/field.h)
};

/// The kernel's stages at the smallest channel count (4, 8, .. 64) at which all its sizes are whole, on a map of 5 x 6
/// positions, batch 1, stride 1; or why there is none.
Outcome<BoundGraph> at_small_site(const Kernel& kernel);

/// Labels of a kernel.
Outcome<Label> label(const Kernel& kernel);

}  // namespace kasimir
