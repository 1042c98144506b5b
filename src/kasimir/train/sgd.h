// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/kernel_module.h"

#include <cstdint>
#include <vector>

namespace kasimir {

struct SgdOptions {
  double momentum = 0.9;
  bool nesterov = true;
  double weight_decay = 0.0;  ///< of the parts that decay
};

/// Stochastic gradient descent with momentum, as PyTorch defines it.
class Sgd {
 public:
  Sgd(const std::vector<Part*>& parts, const SgdOptions& options);
  /// Moves every learned part against its gradient and forgets the gradients.
  void step(double rate);
  /// Its memory, for checkpoints.
  [[nodiscard]] std::vector<at::Tensor> state() const;

 private:
  struct Group {
    std::vector<at::Tensor> weights;
    std::vector<at::Tensor> velocities;
    double decay = 0.0;
  };
  void step(Group& group, double rate);

  SgdOptions options_;
  std::vector<Group> groups_;
};

/// Adam (Kingma and Ba, arXiv 1412.6980) for few small tensors: the logarithms of learned steps.
class Adam {
 public:
  explicit Adam(std::vector<at::Tensor> tensors);
  /// Moves every tensor against its gradient and forgets the gradients.
  void step(double rate);
  /// Its memory, for checkpoints.
  [[nodiscard]] std::vector<at::Tensor> state() const;

 private:
  std::vector<at::Tensor> tensors_, first_, second_;
  at::Tensor steps_;
};

/// The rate of a step: up in a line over the first `warmup` of all steps, then down to 0 along half a cosine.
double rate_at(std::int64_t step, std::int64_t steps, double highest, double warmup);

}  // namespace kasimir
