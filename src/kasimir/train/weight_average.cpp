// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/weight_average.h"

#include <algorithm>

namespace kasimir {

WeightAverage::WeightAverage(std::vector<at::Tensor> tensors, double decay)
    : tensors_(std::move(tensors)), decay_(decay) {
  for (const at::Tensor& tensor : tensors_) averages_.push_back(tensor.detach().clone());
}

void WeightAverage::update(std::int64_t step) {
  const at::NoGradGuard fixed;
  const auto n = static_cast<double>(step);
  const double decay = std::min(decay_, (1 + n) / (10 + n));
  at::_foreach_mul_(averages_, decay);
  at::_foreach_add_(averages_, tensors_, 1 - decay);
}

void WeightAverage::swap() {
  const at::NoGradGuard fixed;
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    const at::Tensor kept = tensors_[i].detach().clone();
    tensors_[i].copy_(averages_[i]);
    averages_[i].copy_(kept);
  }
}

}  // namespace kasimir
