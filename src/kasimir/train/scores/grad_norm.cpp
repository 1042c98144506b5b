// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/scores/scores.h"

namespace kasimir {

Outcome<double> grad_norm(const ScoreInput& input) {
  const at::Tensor scores = input.model.forward(input.images, true);
  if (auto reason = ignores_images(scores)) return *std::move(reason);
  mean_loss(scores, input.targets).backward();
  double sum = 0;
  const std::vector<Part*> parts = input.model.parts();
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const at::Tensor gradient = parts[i]->tensor.grad();
    if (is_weight(input.kinds[i]) && gradient.defined()) sum += gradient.norm().item<double>();
  }
  return finite_score(sum);
}

}  // namespace kasimir
