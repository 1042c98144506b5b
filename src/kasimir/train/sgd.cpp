// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/sgd.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kasimir {

Sgd::Sgd(const std::vector<Part*>& parts, const SgdOptions& options) : options_(options), groups_(2) {
  groups_[0].decay = options.weight_decay;
  for (const Part* part : parts) {
    if (!part->learned) continue;
    Group& group = groups_[part->decays ? 0 : 1];
    group.weights.push_back(part->tensor);
    group.velocities.push_back(at::zeros_like(part->tensor.detach()));
  }
}

std::vector<at::Tensor> Sgd::state() const {
  std::vector<at::Tensor> all;
  for (const Group& group : groups_) all.insert(all.end(), group.velocities.begin(), group.velocities.end());
  return all;
}

void Sgd::step(double rate) {
  const at::NoGradGuard fixed;
  for (Group& group : groups_) step(group, rate);
}

void Sgd::step(Group& group, double rate) {
  std::vector<at::Tensor> weights;
  std::vector<at::Tensor> velocities;
  std::vector<at::Tensor> gradients;
  for (std::size_t i = 0; i < group.weights.size(); ++i) {
    at::Tensor& gradient = group.weights[i].mutable_grad();
    if (!gradient.defined()) continue;
    weights.push_back(group.weights[i]);
    velocities.push_back(group.velocities[i]);
    gradients.push_back(std::move(gradient));
    gradient = at::Tensor();
  }
  if (weights.empty()) return;
  if (group.decay > 0.0) at::_foreach_add_(gradients, weights, group.decay);
  at::_foreach_mul_(velocities, options_.momentum);
  at::_foreach_add_(velocities, gradients, 1.0);
  if (options_.nesterov) {
    at::_foreach_add_(gradients, velocities, options_.momentum);
    at::_foreach_add_(weights, gradients, -rate);
  } else {
    at::_foreach_add_(weights, velocities, -rate);
  }
}

Adam::Adam(std::vector<at::Tensor> tensors) : tensors_(std::move(tensors)), steps_(at::zeros({1}, at::kDouble)) {
  for (const at::Tensor& tensor : tensors_) {
    first_.push_back(at::zeros_like(tensor.detach()));
    second_.push_back(at::zeros_like(tensor.detach()));
  }
}

std::vector<at::Tensor> Adam::state() const {
  std::vector<at::Tensor> all = first_;
  all.insert(all.end(), second_.begin(), second_.end());
  all.push_back(steps_);
  return all;
}

void Adam::step(double rate) {
  // The paper's defaults.
  constexpr double beta1 = 0.9;
  constexpr double beta2 = 0.999;
  constexpr double epsilon = 1e-8;
  const at::NoGradGuard fixed;
  steps_.add_(1.0);
  const double bias1 = 1.0 - std::pow(beta1, steps_.item<double>());
  const double bias2 = 1.0 - std::pow(beta2, steps_.item<double>());
  for (std::size_t i = 0; i < tensors_.size(); ++i) {
    at::Tensor& gradient = tensors_[i].mutable_grad();
    if (!gradient.defined()) continue;
    first_[i].mul_(beta1).add_(gradient, 1.0 - beta1);
    second_[i].mul_(beta2).addcmul_(gradient, gradient, 1.0 - beta2);
    tensors_[i].addcdiv_(first_[i], second_[i].div(bias2).sqrt_().add_(epsilon), -rate / bias1);
    gradient = at::Tensor();
  }
}

double rate_at(std::int64_t step, std::int64_t steps, double highest, double warmup) {
  const auto rising = static_cast<std::int64_t>(std::lround(warmup * static_cast<double>(steps)));
  if (step < rising) return highest * static_cast<double>(step + 1) / static_cast<double>(rising + 1);
  const double done =
      static_cast<double>(step - rising) / static_cast<double>(std::max<std::int64_t>(1, steps - rising));
  return 0.5 * highest * (1.0 + std::cos(std::numbers::pi * done));
}

}  // namespace kasimir
