// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/aten.h"

#include "kasimir/train/executor.h"

#include <algorithm>

namespace kasimir {
namespace {

std::vector<std::int64_t> shape_of(const BoundTensor& tensor) {
  std::vector<std::int64_t> shape;
  for (const auto& axis : tensor.axes) shape.push_back(axis.extent);
  return shape;
}

at::Tensor to_tensor(const std::vector<double>& values, const std::vector<std::int64_t>& shape, at::ScalarType type) {
  at::Tensor tensor = at::empty(shape, at::kDouble);
  KASIMIR_CHECK(tensor.numel() == static_cast<std::int64_t>(values.size()), "{} values for {} elements", values.size(),
                tensor.numel());
  std::ranges::copy(values, tensor.data_ptr<double>());
  return tensor.to(type);
}

std::vector<double> to_values(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().to(at::kDouble).contiguous();
  return {plain.data_ptr<double>(), plain.data_ptr<double>() + plain.numel()};
}

}  // namespace

AtenResult run_aten(const BoundGraph& graph, const std::vector<std::vector<double>>& values,
                    const AtenOptions& options) {
  KASIMIR_CHECK(values.size() == graph.tensors.size(), "values for {} of {} tensors", values.size(),
                graph.tensors.size());
  const auto type = options.single_precision ? at::kFloat : at::kDouble;
  const bool differentiate = !options.cotangent.empty();
  Tensors tensors(graph.tensors.size());
  Tensors leaves(graph.tensors.size());
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    const BoundTensor& tensor = graph.tensors[i];
    if (tensor.role == Role::between) continue;
    tensors[i] = to_tensor(values[i], shape_of(tensor), type);
    if (differentiate && tensor.role != Role::stat) {
      tensors[i].requires_grad_(true);
      leaves[i] = tensors[i];
    }
  }
  const at::AutoGradMode mode(differentiate);
  Executor(graph, options.peepholes).run(tensors);

  AtenResult result;
  const at::Tensor& output = tensors[static_cast<std::size_t>(graph.output)];
  result.output = to_values(output);
  result.statistics.resize(graph.tensors.size());
  for (const BoundStage& stage : graph.stages)
    if (stage.stat)
      result.statistics[static_cast<std::size_t>(stage.out)] = to_values(tensors[static_cast<std::size_t>(stage.out)]);
  result.gradients.resize(graph.tensors.size());
  if (!differentiate) return result;
  if (output.requires_grad())
    output.backward(
        to_tensor(options.cotangent, shape_of(graph.tensors[static_cast<std::size_t>(graph.output)]), type));
  for (std::size_t i = 0; i < leaves.size(); ++i) {
    if (!leaves[i].defined()) continue;
    const at::Tensor gradient = leaves[i].grad();
    result.gradients[i] = gradient.defined() ? to_values(gradient) : std::vector<double>(values[i].size(), 0.0);
  }
  return result;
}

std::vector<std::string> execution_plan(const BoundGraph& graph, const Peepholes& peepholes) {
  return Executor(graph, peepholes).plan();
}

}  // namespace kasimir
