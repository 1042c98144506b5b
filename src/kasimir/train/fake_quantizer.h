// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/quantization.h"
#include "kasimir/train/torch.h"

namespace kasimir {

/// The shape of steps that broadcast to a weight: ones for the axes that are summed over.
std::vector<std::int64_t> step_shape(const std::vector<std::int64_t>& weight_shape, int channel_axes);

/// One quantised place as tensors: its steps may be learned.
class FakeQuantizer {
 public:
  FakeQuantizer(const QuantizedPlace& place, const std::vector<std::int64_t>& weight_shape, at::Device device);

  /// The operands on their grids, still as floating-point numbers.
  void apply(at::Tensor& activation, at::Tensor& weights) const;
  /// The place with the steps as they are now.
  [[nodiscard]] QuantizedPlace place() const;
  [[nodiscard]] std::vector<at::Tensor> learned() const { return {log_weight_steps_, log_activation_step_}; }

 private:
  QuantizedPlace place_;
  at::Tensor log_weight_steps_;
  at::Tensor log_activation_step_;
};

}  // namespace kasimir
