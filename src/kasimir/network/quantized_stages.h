// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/lower.h"
#include "kasimir/network/quantization.h"

#include <optional>
#include <vector>

namespace kasimir {

/// A weighted sum with everything that is known before inference. With q the codes of its two operands,
/// result = scale[slice] * sum of q * q + offset[slice].
struct QuantizedSum {
  BoundRead activation;
  BoundRead weight;
  IntegerFormat activation_format;
  double activation_step = 1;
  std::vector<std::int32_t> weight_codes;
  std::vector<double> scale;         ///< per slice along the weight's leading axes that are not summed over
  std::vector<double> offset;        ///< of a folded batch norm, else empty
  std::vector<std::int32_t> slices;  ///< per element of the result
  int out = -1;                      ///< the tensor that it defines: the batch norm's if one is folded
};

/// A stage as it is computed. Of a folded batch norm nothing is left.
struct QuantizedStage {
  std::size_t stage = 0;  ///< of the graph
  std::optional<QuantizedSum> sum;
};

/// A network whose weighted sums are all in codes, bound at batch 1: what the two evaluations have in common.
struct QuantizedNetwork {
  BoundGraph graph;
  std::vector<std::vector<double>> stored;  ///< per tensor: weights and statistics, but those that became codes
  std::vector<QuantizedStage> stages;
};

/// @throws Error (input) where the quantization does not cover the plan (require_covered), where a tensor is missing,
/// has another size or numbers that are not finite, and for a network that stages cannot compute (lower_network).
QuantizedNetwork quantize_network(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                  const Quantization& quantization);

}  // namespace kasimir
