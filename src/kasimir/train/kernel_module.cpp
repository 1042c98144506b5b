// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/kernel_module.h"

#include "kasimir/nest/inline_copies.h"
#include "kasimir/train/fused_kernel.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

BoundGraph lowered(const Kernel& kernel, const Site& site, std::int64_t batch) {
  auto graph = lower_at(kernel, site, batch);
  KASIMIR_CHECK(graph.ok(), "kernel {} at {}: {}", kernel.name, site.str(), graph.rejection().str());
  return *std::move(graph);
}

at::Tensor start_value(const LayerPart& part, const at::Generator& generator) {
  if (part.kind == PartKind::kernel_stat) return at::full(part.shape, part.start, at::kFloat);
  switch (part.role) {
    case WeightRole::linear: {
      const double deviation = std::sqrt(1.0 / static_cast<double>(part.fan_in));
      return at::empty(part.shape, at::kFloat).normal_(0.0, deviation, generator);
    }
    case WeightRole::scale:
      return at::ones(part.shape, at::kFloat);
    case WeightRole::offset:
      return at::zeros(part.shape, at::kFloat);
  }
  KASIMIR_CHECK(false, "weight {} has no role", part.name);
}

}  // namespace

KernelModule::KernelModule(const Kernel& kernel, const Site& site, const std::string& name, const Peepholes& peepholes,
                           const at::Generator& generator)
    : kernel_(kernel), site_(site), peepholes_(peepholes) {
  for (const LayerPart& part : kernel_parts(name, kernel, site)) {
    at::Tensor value = start_value(part, generator);
    const bool decays = part.learned() && part.role == WeightRole::linear;
    parts_.push_back({part.name, value.requires_grad_(part.learned()), part.learned(), decays, part.momentum});
    tensor_of_part_.push_back(part.tensor);
  }
}

const Executor& KernelModule::executor(std::int64_t batch, bool training) {
  auto& known = executors_[{batch, training}];
  if (!known) {
    const BoundGraph graph = lowered(kernel_, site_, batch);
    known = std::make_unique<Executor>(inline_copies(training ? graph : freeze(graph)), peepholes_);
  }
  return *known;
}

at::Tensor KernelModule::padded(const at::Tensor& input) const {
  const std::int64_t rows = site_.s * site_.h - input.size(2);
  const std::int64_t columns = site_.s * site_.w - input.size(3);
  KASIMIR_CHECK(rows >= 0 && columns >= 0 && input.size(1) == site_.ci, "an input of {} x {} x {} at {}", input.size(1),
                input.size(2), input.size(3), site_.str());
  return rows == 0 && columns == 0 ? input : at::constant_pad_nd(input, {0, columns, 0, rows});
}

at::Tensor KernelModule::run_compiled(const std::shared_ptr<TrainingKernel>& compiled, const at::Tensor& input) {
  std::vector<at::Tensor> weights;
  for (const WeightSlot& slot : compiled->weights()) {
    const auto found = std::ranges::find(tensor_of_part_, slot.tensor);
    weights.push_back(parts_[static_cast<std::size_t>(found - tensor_of_part_.begin())].tensor);
  }
  FusedResult result = run_fused(compiled, padded(input), weights);
  const at::NoGradGuard fixed;
  for (std::size_t i = 0; i < result.statistics.size(); ++i) {
    const auto found = std::ranges::find(tensor_of_part_, compiled->forward_out()[1 + i].tensor);
    Part& part = parts_[static_cast<std::size_t>(found - tensor_of_part_.begin())];
    part.tensor.lerp_(result.statistics[i].reshape(part.tensor.sizes()), part.momentum);
  }
  return result.output;
}

at::Tensor KernelModule::forward(const at::Tensor& input, bool training, const NamedOperandHook& hook) {
  if (training && !hook && input.is_cpu() && input.scalar_type() == at::kFloat)
    if (const auto compiled = fused_.find(input.size(0)); compiled != fused_.end())
      return run_compiled(compiled->second, input);
  const Executor& run = executor(input.size(0), training);
  Tensors tensors(run.graph().tensors.size());
  tensors[static_cast<std::size_t>(run.graph().input)] = padded(input);
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (parts_[p].learned || !training) tensors[static_cast<std::size_t>(tensor_of_part_[p])] = parts_[p].tensor;
  OperandHook by_number;
  if (hook)
    by_number = [&](int weight, at::Tensor& activation, at::Tensor& weights) {
      const auto found = std::ranges::find(tensor_of_part_, weight);
      hook(parts_[static_cast<std::size_t>(found - tensor_of_part_.begin())].name, activation, weights);
    };
  run.run(tensors, by_number);
  if (training) {
    const at::NoGradGuard fixed;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p].learned) continue;
      const at::Tensor& batch = tensors[static_cast<std::size_t>(tensor_of_part_[p])];
      parts_[p].tensor.lerp_(batch.detach().to(at::kFloat), parts_[p].momentum);
    }
  }
  return tensors[static_cast<std::size_t>(run.graph().output)];
}

}  // namespace kasimir
