// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/code_sums.h"
#include "kasimir/network/quantized_stages.h"

#include <map>
#include <span>
#include <vector>

namespace kasimir {

/// The network of IntegerNetwork in double precision: values that are rounded where integers are, weighted sums by
/// CodeSums, all else by the interpreter. Equal to IntegerNetwork bit for bit, which tests hold it to.
class FakeQuantizedNetwork {
 public:
  /// @throws Error (input) as quantize_network.
  FakeQuantizedNetwork(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                       const Quantization& quantization);

  /// The scores of an image [c, h, w]: multiples of 2^-16.
  [[nodiscard]] std::vector<double> scores(std::span<const float> image) const;

 private:
  QuantizedNetwork quantized_;
  std::map<std::size_t, CodeSums> sums_;  ///< by the stage's place in the graph
};

}  // namespace kasimir
