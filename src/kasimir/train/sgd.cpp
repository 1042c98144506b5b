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

double rate_at(std::int64_t step, std::int64_t steps, double highest, double warmup) {
  const auto rising = static_cast<std::int64_t>(std::lround(warmup * static_cast<double>(steps)));
  if (step < rising) return highest * static_cast<double>(step + 1) / static_cast<double>(rising + 1);
  const double done =
      static_cast<double>(step - rising) / static_cast<double>(std::max<std::int64_t>(1, steps - rising));
  return 0.5 * highest * (1.0 + std::cos(std::numbers::pi * done));
}

}  // namespace kasimir
