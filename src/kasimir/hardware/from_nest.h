// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/hardware/problem.h"
#include "kasimir/nest/nest.h"

#include <vector>

namespace kasimir {

/// The problem that a nest poses to an accelerator. Nothing here knows primitives: digits of the left side are loops of
/// their own, windows and strides are sums of terms, zeros around a map clip an axis, a wrapped coordinate (a shift)
/// has the footprint of one without.
///
/// Dimensions are the loops of more than one pass, named like `h2`; operands are the result and every different read,
/// once each. What the epilogue reads is counted as if every operation read it. A point's operations are those of its
/// functions, where a product that is summed is one, and the epilogue's share of a point, rounded. Loops that nothing
/// depends on repeat operations.
/// Rejected if the evaluator cannot hold it.
Outcome<Problem> problem_of(const NestProgram& program, const Nest& nest, const OperandBits& bits = {});

/// The same problem with its operands called O, I, W, I2, ..: nests that only differ in the names of their tensors are
/// then equal.
Problem with_plain_names(Problem problem);

/// The problems of all nests that run for each image, in order; the first rejection otherwise.
Outcome<std::vector<Problem>> problems_of(const NestProgram& program, const OperandBits& bits = {});

}  // namespace kasimir
