// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/interpreter.h"

namespace kasimir {

/// What a stage computes of constants, weights and stored statistics alone becomes a stored tensor (role `weight`) that
/// it reads, so that nothing is left to compute but what depends on the input. `values` holds the weights and the
/// statistics of `graph` and receives the new tensors. Computed in double precision.
void fold_stored(BoundGraph& graph, TensorValues<double>& values);

}  // namespace kasimir
