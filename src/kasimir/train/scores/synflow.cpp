// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/scores/scores.h"

namespace kasimir {

Outcome<double> synflow(const ScoreInput& input) {
  // Norms become the identity: at inference, with means of 0 and variances of 1.
  neutralise(input);
  const std::vector<Part*> parts = input.model.parts();
  // The products of absolute weights over many layers leave the range of single precision.
  for (std::size_t i = 0; i < parts.size(); ++i) {
    at::Tensor wide = parts[i]->tensor.detach().to(at::kDouble);
    if (is_weight(input.kinds[i])) wide = wide.abs().requires_grad_(true);
    parts[i]->tensor = wide;
  }
  std::vector<std::int64_t> one = input.images.sizes().vec();
  one[0] = 1;
  const at::Tensor ones = at::ones(one, input.images.options().dtype(at::kDouble));
  input.model.forward(ones, false).sum().backward();
  double sum = 0;
  for (std::size_t i = 0; i < parts.size(); ++i) {
    const at::Tensor& weight = parts[i]->tensor;
    if (is_weight(input.kinds[i]) && weight.grad().defined())
      sum += weight.detach().mul(weight.grad()).sum().item<double>();
  }
  if (sum == 0)
    return Rejection{"score: the output depends on the image", "nothing reaches the output from an image of ones"};
  if (sum < 0) return Rejection{"score: the value is finite", "the logarithm of a negative flow"};
  return finite_score(std::log(sum));
}

}  // namespace kasimir
