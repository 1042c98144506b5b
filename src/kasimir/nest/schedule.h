// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/nest/nest.h"

namespace kasimir {

/// Every stage becomes a nest, and an element-wise stage the epilogue of the reduction that only it reads; where it
/// reads several, of the one that is computed last. The graph is frozen (no batch statistics).
NestProgram schedule(const BoundGraph& graph);

}  // namespace kasimir
