// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/quantization.h"
#include "kasimir/train/torch.h"

#include <span>
#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// A weighted place that may be computed at several bit widths or a mixture of them: one learned step for activations
/// and one per output channel for weights, for each width.
class MixedPlace {
 public:
  /// `may_be_negative`: the activation, for all that is known beforehand.
  MixedPlace(const WeightedPlace& place, std::span<const int> widths, bool may_be_negative, at::Device device);

  /// Puts quantised operands in the place of plain ones; `mix` has one number per width (undefined where there is one
  /// width). Steps get gradients if `learn`. The first call starts all steps at 2 * mean(|x|) / sqrt(highest code) of
  /// what it is given (Esser et al., arXiv 1902.08153) and takes signed activations if one is negative.
  void apply(at::Tensor& activation, at::Tensor& weights, const at::Tensor& mix, bool learn);

  /// The place at one of its widths with the steps as they are now.
  [[nodiscard]] QuantizedPlace at_width(std::size_t width) const;
  [[nodiscard]] const std::vector<int>& widths() const { return widths_; }
  /// Logarithms of all steps.
  [[nodiscard]] std::vector<at::Tensor> learned() const;
  /// All that a checkpoint needs, by name.
  [[nodiscard]] std::vector<std::pair<std::string, at::Tensor>> state() const;

 private:
  void start(const at::Tensor& activation, const at::Tensor& weights);
  [[nodiscard]] IntegerFormat activation_format(std::size_t width) const;
  [[nodiscard]] IntegerFormat weight_format(std::size_t width) const;

  WeightedPlace place_;
  std::vector<int> widths_;
  std::vector<at::Tensor> weight_log_steps_;  ///< by width
  std::vector<at::Tensor> activation_log_steps_;
  at::Tensor started_;  ///< 0 or 1: a tensor, as what a checkpoint stores
  at::Tensor signed_;   ///< activations: 0 or 1
};

}  // namespace kasimir
