// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/fused_kernel.h"

#include "kasimir/base/error.h"

#include <ATen/ops/empty_strided.h>
#include <torch/csrc/autograd/custom_function.h>

#include <algorithm>

namespace kasimir {
namespace {

using Array = TrainingKernel::Array;

at::Tensor empty_like_array(const Array& array) {
  return at::empty_strided(array.extents, array.strides, at::TensorOptions().dtype(at::kFloat));
}

/// All weights one after another, as the passes take them.
at::Tensor flat_weights(const TrainingKernel& kernel, at::TensorList weights) {
  at::Tensor flat = at::empty({std::max<std::int64_t>(1, kernel.weights_size())}, at::kFloat);
  for (std::size_t i = 0; i < weights.size(); ++i) {
    const WeightSlot& slot = kernel.weights()[i];
    KASIMIR_CHECK(weights[i].numel() == slot.size, "{} values for the weight {}", weights[i].numel(), slot.name);
    flat.narrow(0, slot.offset, slot.size).copy_(weights[i].detach().reshape({-1}));
  }
  return flat;
}

/// What forward leaves behind beside the output.
struct FusedCall {
  std::shared_ptr<TrainingKernel> kernel;
  std::vector<at::Tensor> statistics;
};

/// What the backward pass needs beside tensors.
struct Held {
  std::shared_ptr<TrainingKernel> kernel;
  std::vector<std::vector<std::int64_t>> shapes;
};
struct HeldTarget : torch::CustomClassHolder {
  explicit HeldTarget(std::shared_ptr<Held> of) : held(std::move(of)) {}
  std::shared_ptr<Held> held;
};

struct FusedFunction : torch::autograd::Function<FusedFunction> {
  using Context = torch::autograd::AutogradContext;
  using Variables = torch::autograd::variable_list;

  static at::Tensor forward(Context* context, const at::Tensor& input, at::TensorList weights, FusedCall* call) {
    TrainingKernel& kernel = *call->kernel;
    const at::Tensor x = input.contiguous(at::MemoryFormat::ChannelsLast);
    const at::Tensor flat = flat_weights(kernel, weights);
    std::vector<at::Tensor> results;
    std::vector<float*> out;
    for (const Array& array : kernel.forward_out()) {
      results.push_back(empty_like_array(array));
      out.push_back(results.back().data_ptr<float>());
    }
    kernel.forward(flat.const_data_ptr<float>(), x.const_data_ptr<float>(), out);
    for (std::size_t i = 0; i < kernel.statistics(); ++i) call->statistics.push_back(results[1 + i]);

    Variables saved{flat};
    for (std::size_t i = 1; i < kernel.backward_in().size(); ++i) {
      const int tensor = kernel.backward_in()[i].tensor;
      const auto found = std::ranges::find(kernel.forward_out(), tensor, &Array::tensor);
      saved.push_back(found == kernel.forward_out().end()
                          ? x
                          : results[static_cast<std::size_t>(found - kernel.forward_out().begin())]);
    }
    context->save_for_backward(std::move(saved));
    auto held = std::make_shared<Held>();
    held->kernel = call->kernel;
    for (const at::Tensor& weight : weights) held->shapes.push_back(weight.sizes().vec());
    context->saved_data["held"] = c10::IValue::make_capsule(c10::make_intrusive<HeldTarget>(std::move(held)));
    return results.front();
  }

  static Variables backward(Context* context, const Variables& gradients) {
    const auto target = context->saved_data["held"].toCapsule();
    const Held& held = *static_cast<HeldTarget*>(target.get())->held;
    TrainingKernel& kernel = *held.kernel;
    const Variables saved = context->get_saved_variables();
    const at::Tensor cotangent = gradients.front().contiguous(at::MemoryFormat::ChannelsLast);
    std::vector<const float*> in{cotangent.const_data_ptr<float>()};
    for (std::size_t i = 1; i < saved.size(); ++i) in.push_back(saved[i].const_data_ptr<float>());
    std::vector<at::Tensor> results;
    std::vector<float*> out;
    for (const Array& array : kernel.backward_out()) {
      results.push_back(empty_like_array(array));
      out.push_back(results.back().data_ptr<float>());
    }
    kernel.backward(saved.front().const_data_ptr<float>(), in, out);
    const auto gradient_by = [&](int tensor) {
      const int wanted = kernel.gradient()[static_cast<std::size_t>(tensor)];
      const auto found = std::ranges::find(kernel.backward_out(), wanted, &Array::tensor);
      return wanted < 0 ? at::Tensor() : results[static_cast<std::size_t>(found - kernel.backward_out().begin())];
    };
    Variables all{gradient_by(kernel.input())};
    for (std::size_t i = 0; i < kernel.weights().size(); ++i) {
      at::Tensor by_weight = gradient_by(kernel.weights()[i].tensor);
      all.push_back(by_weight.defined() ? by_weight.reshape(held.shapes[i]) : at::zeros(held.shapes[i], at::kFloat));
    }
    all.emplace_back();
    return all;
  }
};

}  // namespace

FusedResult run_fused(const std::shared_ptr<TrainingKernel>& kernel, const at::Tensor& input,
                      const std::vector<at::Tensor>& weights) {
  FusedCall call{kernel, {}};
  const at::Tensor output = FusedFunction::apply(input, at::TensorList(weights), &call);
  return {output, std::move(call.statistics)};
}

}  // namespace kasimir
