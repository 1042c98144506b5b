// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/training_kernel.h"
#include "kasimir/network/weights.h"
#include "kasimir/train/executor.h"

#include <map>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// A learned or stored tensor of a model.
struct Part {
  std::string name;
  at::Tensor tensor;
  bool learned = true;  ///< false: a running statistic
  bool decays = true;   ///< takes part in weight decay
  double momentum = 0;  ///< running statistics: how far a batch moves them towards its own
};

/// Changes the operands of the weighted product whose weight has this name.
using NamedOperandHook = std::function<void(const std::string& weight, at::Tensor& activation, at::Tensor& weights)>;

/// One kernel at one site, with its weights.
class KernelModule {
 public:
  /// Starts weights by their role: linear normal with variance 1 / fan_in, scales at 1, offsets at 0; statistics as
  /// their stages say. `name` goes before the parts' names.
  KernelModule(const Kernel& kernel, const Site& site, const std::string& name, const Peepholes& peepholes,
               const at::Generator& generator);

  /// [n, ci, rows, columns] -> [n, co, h, w]; where the input has fewer than s*h rows or s*w columns, zeros are added
  /// below and on the right. In training, running statistics move towards the batch's.
  at::Tensor forward(const at::Tensor& input, bool training, const NamedOperandHook& hook = {});

  /// From now on training on batches of that size runs the compiled kernel, where operands are not hooked.
  void use_fused(std::int64_t batch, std::shared_ptr<TrainingKernel> kernel) { fused_[batch] = std::move(kernel); }

  [[nodiscard]] std::vector<Part>& parts() { return parts_; }
  [[nodiscard]] const Kernel& kernel() const { return kernel_; }
  [[nodiscard]] const Site& site() const { return site_; }

 private:
  const Executor& executor(std::int64_t batch, bool training);
  at::Tensor padded(const at::Tensor& input) const;
  at::Tensor run_compiled(const std::shared_ptr<TrainingKernel>& compiled, const at::Tensor& input);

  Kernel kernel_;
  Site site_;
  Peepholes peepholes_;
  std::vector<Part> parts_;
  std::vector<int> tensor_of_part_;
  std::map<std::pair<std::int64_t, bool>, std::unique_ptr<Executor>> executors_;
  std::map<std::int64_t, std::shared_ptr<TrainingKernel>> fused_;  ///< by batch
};

}  // namespace kasimir
