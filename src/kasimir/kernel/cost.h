// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

namespace kasimir {

/// What one application of a kernel to one image costs, as sums of monomials in the symbols. N does not occur.
struct Cost {
  SizeSum macs;      ///< products under a sum, padding counted as executed
  SizeSum params;    ///< elements of weights
  SizeSum ops;       ///< all scalar operations, by the function table; a MAC counts 2
  SizeSum elements;  ///< elements of all tensors that steps write, before fusion
};

Cost cost(const Graph& graph);

}  // namespace kasimir
