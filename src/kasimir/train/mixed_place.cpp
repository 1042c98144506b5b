// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/mixed_place.h"

#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/fake_quantizer.h"
#include "kasimir/train/quantize_mix.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/clamp.h>
#include <ATen/ops/log.h>
#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

// A dead tensor gets a step all the same.
constexpr double smallest_step = 1e-5;

bool is_set(const at::Tensor& flag) { return flag.item<float>() != 0; }

/// Where learned steps start (Esser et al., arXiv 1902.08153; number/straight_through.h has the same for plain
/// numbers): from the mean of |x| over all axes along which `steps` has extent 1.
void start_steps(const at::Tensor& x, const IntegerFormat& format, at::Tensor& log_steps) {
  std::vector<std::int64_t> axes;
  for (std::int64_t axis = 0; axis < x.dim(); ++axis)
    if (axis >= log_steps.dim() || log_steps.size(axis) == 1) axes.push_back(axis);
  const at::Tensor mean = at::abs(x.detach()).mean(axes, true).reshape(log_steps.sizes());
  const double factor = 2.0 / std::sqrt(static_cast<double>(format.highest()));
  log_steps.copy_(at::log(at::clamp(mean * factor, smallest_step)));
}

std::vector<at::Tensor> detached(const std::vector<at::Tensor>& tensors) {
  std::vector<at::Tensor> all;
  for (const at::Tensor& tensor : tensors) all.push_back(tensor.detach());
  return all;
}

}  // namespace

MixedPlace::MixedPlace(const WeightedPlace& place, std::span<const int> widths, bool may_be_negative, at::Device device)
    : place_(place),
      widths_(widths.begin(), widths.end()),
      started_(at::zeros({1}, at::kFloat)),
      signed_(at::full({1}, may_be_negative ? 1.0 : 0.0, at::kFloat)) {
  const std::vector<std::int64_t> shape = step_shape(place.shape, place.channel_axes);
  const auto options = at::TensorOptions(at::kFloat).device(device);
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    weight_log_steps_.push_back(at::zeros(shape, options).requires_grad_(true));
    activation_log_steps_.push_back(at::zeros({1}, options).requires_grad_(true));
  }
}

IntegerFormat MixedPlace::activation_format(std::size_t width) const {
  return {widths_[width], is_set(signed_), false};
}

IntegerFormat MixedPlace::weight_format(std::size_t width) const { return {widths_[width], true, true}; }

void MixedPlace::start(const at::Tensor& activation, const at::Tensor& weights) {
  const at::NoGradGuard fixed;
  if (activation.min().item<double>() < 0) signed_.fill_(1.0);
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    start_steps(activation.reshape({-1}), activation_format(i), activation_log_steps_[i]);
    start_steps(weights, weight_format(i), weight_log_steps_[i]);
  }
  started_.fill_(1.0);
}

void MixedPlace::apply(at::Tensor& activation, at::Tensor& weights, const at::Tensor& mix, bool learn) {
  if (!is_set(started_)) start(activation, weights);
  std::vector<IntegerFormat> activation_formats;
  std::vector<IntegerFormat> weight_formats;
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    activation_formats.push_back(activation_format(i));
    weight_formats.push_back(weight_format(i));
  }
  const auto steps = [&](const std::vector<at::Tensor>& all) { return learn ? all : detached(all); };
  activation = quantize_and_mix(activation, steps(activation_log_steps_), mix, activation_formats, true);
  weights = quantize_and_mix(weights, steps(weight_log_steps_), mix, weight_formats, false);
}

QuantizedPlace MixedPlace::at_width(std::size_t width) const {
  QuantizedPlace place;
  place.weight = weight_format(width);
  place.activation = activation_format(width);
  place.channel_axes = place_.channel_axes;
  place.weight_steps = floats_of(at::exp(weight_log_steps_[width].detach()));
  place.activation_step = at::exp(activation_log_steps_[width].detach()).item<float>();
  return place;
}

std::vector<at::Tensor> MixedPlace::learned() const {
  std::vector<at::Tensor> all = weight_log_steps_;
  all.insert(all.end(), activation_log_steps_.begin(), activation_log_steps_.end());
  return all;
}

std::vector<std::pair<std::string, at::Tensor>> MixedPlace::state() const {
  std::vector<std::pair<std::string, at::Tensor>> all{{place_.weight + "#started", started_},
                                                      {place_.weight + "#signed", signed_}};
  for (std::size_t i = 0; i < widths_.size(); ++i) {
    all.emplace_back(fmt::format("{}#weight step {}", place_.weight, i), weight_log_steps_[i]);
    all.emplace_back(fmt::format("{}#activation step {}", place_.weight, i), activation_log_steps_[i]);
  }
  return all;
}

}  // namespace kasimir
