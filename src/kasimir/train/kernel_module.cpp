// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/kernel_module.h"

#include "kasimir/nest/inline_copies.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

BoundGraph lowered(const Kernel& kernel, const Site& site, std::int64_t batch) {
  auto graph = lower_at(kernel, site, batch);
  KASIMIR_CHECK(graph.ok(), "kernel {} at {}: {}", kernel.name, site.str(), graph.rejection().str());
  return *std::move(graph);
}

std::vector<std::int64_t> shape_of(const BoundTensor& tensor) {
  std::vector<std::int64_t> shape;
  for (const auto& axis : tensor.axes) shape.push_back(axis.extent);
  return shape;
}

at::Tensor start_value(const BoundTensor& tensor, const at::Generator& generator) {
  switch (tensor.weight_role) {
    case WeightRole::linear: {
      const double deviation = std::sqrt(1.0 / static_cast<double>(tensor.fan_in));
      return at::empty(shape_of(tensor), at::kFloat).normal_(0.0, deviation, generator);
    }
    case WeightRole::scale:
      return at::ones(shape_of(tensor), at::kFloat);
    case WeightRole::offset:
      return at::zeros(shape_of(tensor), at::kFloat);
  }
  KASIMIR_CHECK(false, "weight {} has no role", tensor.name);
}

}  // namespace

KernelModule::KernelModule(const Kernel& kernel, const Site& site, const std::string& name, const Peepholes& peepholes,
                           const at::Generator& generator)
    : kernel_(kernel), site_(site), peepholes_(peepholes) {
  const BoundGraph graph = lowered(kernel, site, 1);
  for (std::size_t t = 0; t < graph.tensors.size(); ++t) {
    const BoundTensor& tensor = graph.tensors[t];
    if (tensor.role != Role::weight) continue;
    at::Tensor value = start_value(tensor, generator);
    parts_.push_back(
        {name + "." + tensor.name, value.requires_grad_(true), true, tensor.weight_role == WeightRole::linear});
    tensor_of_part_.push_back(static_cast<int>(t));
  }
  for (const BoundStage& stage : graph.stages) {
    if (!stage.stat) continue;
    const BoundTensor& tensor = graph.tensors[static_cast<std::size_t>(stage.out)];
    parts_.push_back(
        {name + "." + tensor.name, at::full(shape_of(tensor), stage.stat->start, at::kFloat), false, false});
    tensor_of_part_.push_back(stage.out);
    momentum_[stage.out] = stage.stat->momentum;
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

at::Tensor KernelModule::forward(const at::Tensor& input, bool training) {
  const Executor& run = executor(input.size(0), training);
  Tensors tensors(run.graph().tensors.size());
  tensors[static_cast<std::size_t>(run.graph().input)] = padded(input);
  for (std::size_t p = 0; p < parts_.size(); ++p)
    if (parts_[p].learned || !training) tensors[static_cast<std::size_t>(tensor_of_part_[p])] = parts_[p].tensor;
  run.run(tensors);
  if (training) {
    const at::NoGradGuard fixed;
    for (std::size_t p = 0; p < parts_.size(); ++p) {
      if (parts_[p].learned) continue;
      const at::Tensor& batch = tensors[static_cast<std::size_t>(tensor_of_part_[p])];
      parts_[p].tensor.lerp_(batch.detach().to(at::kFloat), momentum_.at(tensor_of_part_[p]));
    }
  }
  return tensors[static_cast<std::size_t>(run.graph().output)];
}

}  // namespace kasimir
