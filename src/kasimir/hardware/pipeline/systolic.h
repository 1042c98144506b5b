// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/layer.h"

#include <cstdint>

namespace kasimir {

/// Which matrix stays in the array: outputs, weights or inputs.
enum class SystolicDataflow { output_stationary, weight_stationary, input_stationary };

struct SystolicArray {
  int rows = 32, cols = 32;
  SystolicDataflow dataflow = SystolicDataflow::output_stationary;
  bool operator==(const SystolicArray&) const = default;
};

/// What a product of matrices costs on a systolic array whose memories keep up.
struct SystolicCost {
  std::int64_t folds = 0;          ///< times the array is filled
  std::int64_t cycles = 0;         ///< with filling and draining; SCALE-Sim prints one less
  std::int64_t input_reads = 0;    ///< words out of the memory of inputs
  std::int64_t weight_reads = 0;   ///< words out of the memory of weights
  std::int64_t output_writes = 0;  ///< words into the memory of outputs, partial sums too
  double mapping_efficiency = 0;   ///< part of the array that holds something, mean over folds
  double utilization = 0;          ///< MACs per cycle and processing element
};

/// The closed form of SCALE-Sim v2's trace (Samajdar et al., ISPASS 2020), equal to its runs on all 18 points of
/// tests/reference/hardware/systolic_scalesim.csv. @throws Error (input) if a size is below 1.
SystolicCost systolic_cost(const Gemm& product, const SystolicArray& array);

/// A layer: its groups one after another.
SystolicCost systolic_cost(const ConvLayer& layer, const SystolicArray& array);

}  // namespace kasimir
