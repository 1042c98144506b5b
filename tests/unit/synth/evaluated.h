// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/real.h"
#include "kasimir/kernel/builder.h"
#include "kasimir/kernel/kernel.h"

#include <algorithm>
#include <cmath>
#include <vector>

namespace kasimir::testing {

/// The stages of a kernel whose result may have any shape. @pre every step is legal at the sites.
inline Graph meaning(const Kernel& kernel, const SiteSet& sites) {
  const auto shapes = infer_shapes(kernel, sites).value();
  Graph graph;
  Tensor input;
  input.role = Role::input;
  input.axes.push_back({AxisKind::batch, Size(Symbol::N)});
  for (const Axis& axis : input_shape()) input.axes.push_back({axis.kind, axis.extent});
  graph.tensors.push_back(std::move(input));
  std::vector<int> tensors{0};
  for (const Step& step : kernel.steps) {
    std::vector<Shape> operands;
    std::vector<int> read;
    for (int operand : step.operands) {
      operands.push_back(shapes[static_cast<std::size_t>(operand)]);
      read.push_back(tensors[static_cast<std::size_t>(operand)]);
    }
    const Call call(*step.primitive, std::move(operands), step.arguments, sites);
    StageBuilder build(graph, read, static_cast<int>(&step - kernel.steps.data()));
    step.primitive->stages(call, build);
    tensors.push_back(build.last());
  }
  graph.output = tensors[static_cast<std::size_t>(kernel.output)];
  return graph;
}

/// A kernel at one site with numbers in it, executed by the interpreter.
class Evaluated {
 public:
  /// Free symbols take the first values that make every size whole.
  Evaluated(const Kernel& kernel, const Site& site, std::int64_t batch) {
    const SiteSet sites({site}, kernel.choices);
    Binding binding = sites.bindings().front();
    binding.set(Symbol::N, batch);
    const Graph graph = meaning(kernel, sites);
    for (std::int64_t trial = 0; trial < 6; ++trial) {
      for (int i = 0; i < free_symbol_count; ++i) binding.set(free_symbol(i), 4 * (1 + trial) + 4 * (i % 2));
      if (auto bound = bind(graph, binding); bound.ok()) {
        graph_ = *std::move(bound);
        possible_ = true;
        break;
      }
    }
    if (!possible_) return;
    step_of_.assign(graph_.tensors.size(), -1);
    for (const BoundStage& stage : graph_.stages)
      for (const BoundNode& node : stage.nodes)
        if (const auto* read = std::get_if<BoundRead>(&node))
          if (graph_.tensors[static_cast<std::size_t>(read->tensor)].role == Role::weight)
            step_of_[static_cast<std::size_t>(read->tensor)] = stage.step;
  }

  [[nodiscard]] bool possible() const { return possible_; }
  [[nodiscard]] const BoundGraph& graph() const { return graph_; }
  /// The step that the weight belongs to, -1 for other tensors.
  [[nodiscard]] int step_of(std::size_t tensor) const { return step_of_[tensor]; }

  /// A random input; weights are drawn from their step's stream and their number in the step, whatever the order of
  /// their axes.
  [[nodiscard]] TensorValues<double> draw(std::uint64_t seed, const std::vector<int>& stream) const {
    Rng inputs(seed);
    TensorValues<double> values(graph_.tensors.size());
    std::vector<std::uint64_t> next(stream.size(), 0);
    for (std::size_t t = 0; t < values.size(); ++t) {
      values[t].resize(
          static_cast<std::size_t>(graph_.tensors[t].role == Role::between ? 0 : elements(graph_.tensors[t])));
      if (graph_.tensors[t].role == Role::input)
        for (double& v : values[t]) v = inputs.normal();
      if (graph_.tensors[t].role != Role::weight) continue;
      const auto step = static_cast<std::size_t>(step_of_[t]);
      Rng rng(seed + 1, static_cast<std::uint64_t>(stream[step]) * 8 + next[step]++);
      for (std::size_t place : places(t))
        values[t][place] = rng.normal() / std::sqrt(static_cast<double>(graph_.tensors[t].fan_in));
    }
    return values;
  }

  [[nodiscard]] std::vector<double> run(TensorValues<double> values) const {
    RealDomain domain;
    evaluate(graph_, domain, values);
    return std::move(values[static_cast<std::size_t>(graph_.output)]);
  }

  /// The result with its axes in the order of their kinds.
  [[nodiscard]] std::vector<double> by_kind(const std::vector<double>& result) const {
    std::vector<double> sorted;
    for (std::size_t place : places(static_cast<std::size_t>(graph_.output))) sorted.push_back(result[place]);
    return sorted;
  }

 private:
  /// Places in memory of a tensor's elements, sorted by coordinates along the axes in the order of their kinds.
  [[nodiscard]] std::vector<std::size_t> places(std::size_t tensor) const {
    const auto& axes = graph_.tensors[tensor].axes;
    std::vector<std::size_t> order(axes.size());
    for (std::size_t i = 0; i < order.size(); ++i) order[i] = i;
    std::ranges::stable_sort(order, {}, [&](std::size_t i) { return axes[i].kind; });
    std::vector<std::size_t> stride(axes.size(), 1);
    for (std::size_t i = axes.size(); i-- > 1;) stride[i - 1] = stride[i] * static_cast<std::size_t>(axes[i].extent);
    std::vector<std::size_t> sorted;
    std::vector<std::int64_t> at(axes.size(), 0);
    for (std::int64_t left = elements(graph_.tensors[tensor]); left > 0; --left) {
      std::size_t place = 0;
      for (std::size_t i = 0; i < axes.size(); ++i) place += static_cast<std::size_t>(at[i]) * stride[i];
      sorted.push_back(place);
      for (std::size_t i = order.size(); i-- > 0 && ++at[order[i]] == axes[order[i]].extent;) at[order[i]] = 0;
    }
    return sorted;
  }

  BoundGraph graph_;
  std::vector<int> step_of_;
  bool possible_ = false;
};

/// 0, 1, 2, ..
inline std::vector<int> in_order(std::size_t count) {
  std::vector<int> numbers(count);
  for (std::size_t i = 0; i < count; ++i) numbers[i] = static_cast<int>(i);
  return numbers;
}

}  // namespace kasimir::testing
