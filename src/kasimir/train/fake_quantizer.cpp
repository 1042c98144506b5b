// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/fake_quantizer.h"

#include "kasimir/base/error.h"
#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/quantize_mix.h"

#include <ATen/ops/log.h>

#include <algorithm>

namespace kasimir {
namespace {

at::Tensor log_of(const std::vector<float>& steps, const std::vector<std::int64_t>& shape, at::Device device) {
  at::Tensor values = at::empty(shape, at::kFloat);
  std::ranges::copy(steps, values.data_ptr<float>());
  return at::log(values).to(device).requires_grad_(true);
}

}  // namespace

std::vector<std::int64_t> step_shape(const std::vector<std::int64_t>& weight_shape, int channel_axes) {
  std::vector<std::int64_t> shape(weight_shape.size(), 1);
  std::copy_n(weight_shape.begin(), channel_axes, shape.begin());
  return shape;
}

FakeQuantizer::FakeQuantizer(const QuantizedPlace& place, const std::vector<std::int64_t>& weight_shape,
                             at::Device device)
    : place_(place) {
  const std::int64_t slices = slice_count(weight_shape, place.channel_axes);
  KASIMIR_CHECK(slices == static_cast<std::int64_t>(place.weight_steps.size()), "{} steps for {} slices",
                place.weight_steps.size(), slices);
  log_weight_steps_ = log_of(place.weight_steps, step_shape(weight_shape, place.channel_axes), device);
  log_activation_step_ = log_of({place.activation_step}, {1}, device);
}

void FakeQuantizer::apply(at::Tensor& activation, at::Tensor& weights) const {
  activation = quantize_and_mix(activation, {log_activation_step_}, {}, {place_.activation}, true);
  weights = quantize_and_mix(weights, {log_weight_steps_}, {}, {place_.weight}, false);
}

QuantizedPlace FakeQuantizer::place() const {
  QuantizedPlace now = place_;
  const at::NoGradGuard fixed;
  now.weight_steps = floats_of(at::exp(log_weight_steps_));
  now.activation_step = at::exp(log_activation_step_).item<float>();
  return now;
}

}  // namespace kasimir
