// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/torch.h"

#include <cstdint>
#include <vector>

namespace kasimir {

/// An exponential moving average of tensors over training steps (Polyak and Juditsky, SIAM J. Control Optim. 30(4),
/// 1992, in the form of Tarvainen and Valpola, arXiv 1703.01780). After step n, from 1, it is d * average +
/// (1 - d) * tensor with d = min(decay, (1 + n) / (10 + n)): while few steps are done the start values are forgotten
/// fast, as TensorFlow's ExponentialMovingAverage with `num_updates` does.
class WeightAverage {
 public:
  /// Begins at the tensors' values. `decay` is above 0 and below 1.
  WeightAverage(std::vector<at::Tensor> tensors, double decay);
  void update(std::int64_t step);
  /// The tensors get the averages' values and the averages theirs; a second time changes it back.
  void swap();
  /// The averages, for checkpoints.
  [[nodiscard]] const std::vector<at::Tensor>& state() const { return averages_; }

 private:
  std::vector<at::Tensor> tensors_;
  std::vector<at::Tensor> averages_;
  double decay_;
};

}  // namespace kasimir
