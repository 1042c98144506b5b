// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/mix_outputs.h"

#include "kasimir/base/error.h"

#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/custom_function.h>

namespace kasimir {
namespace {

using torch::autograd::AutogradContext;
using torch::autograd::variable_list;

double weight_of(const at::Tensor& weights, std::size_t k) { return weights.data_ptr<float>()[k]; }

class MixOutputs : public torch::autograd::Function<MixOutputs> {
 public:
  static at::Tensor forward(AutogradContext* context, const at::Tensor& weights, at::TensorList outputs) {
    variable_list saved{weights};
    saved.insert(saved.end(), outputs.begin(), outputs.end());
    context->save_for_backward(saved);
    at::Tensor sum;
    for (std::size_t k = 0; k < outputs.size(); ++k) {
      const double weight = weight_of(weights, k);
      if (weight == 1) return outputs[k];  // sampled hard: the others have 0
      if (weight == 0) continue;
      if (sum.defined())
        sum.add_(outputs[k], weight);
      else
        sum = at::mul(outputs[k], weight);
    }
    return sum;
  }

  static variable_list backward(AutogradContext* context, const variable_list& gradients) {
    const variable_list saved = context->get_saved_variables();
    const at::Tensor& weights = saved[0];
    const at::Tensor& gradient = gradients[0];
    at::Tensor by_weight = at::zeros_like(weights);
    variable_list result{by_weight};
    for (std::size_t k = 0; k + 1 < saved.size(); ++k) {
      by_weight.data_ptr<float>()[k] = at::sum(gradient * saved[k + 1]).item<float>();
      const double weight = weight_of(weights, k);
      result.push_back(weight == 0 ? at::Tensor() : at::mul(gradient, weight));
    }
    return result;
  }
};

}  // namespace

at::Tensor mix_outputs(const std::vector<at::Tensor>& outputs, const at::Tensor& weights) {
  KASIMIR_CHECK(weights.numel() == static_cast<std::int64_t>(outputs.size()) && weights.is_cpu() &&
                    weights.scalar_type() == at::kFloat,
                "{} weights for {} outputs", weights.numel(), outputs.size());
  return MixOutputs::apply(weights, at::TensorList(outputs));
}

}  // namespace kasimir
