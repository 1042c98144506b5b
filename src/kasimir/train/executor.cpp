// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/executor.h"

#include "kasimir/network/quantization.h"
#include "kasimir/train/peephole.h"

#include <algorithm>

namespace kasimir {
namespace {

Action single_action(const BoundGraph& graph, const BoundStage& stage, const Peepholes& peepholes) {
  if (peepholes.convolution)
    if (auto action = convolution_action(graph, stage)) return *std::move(action);
  if (peepholes.pooling)
    if (auto action = pooling_action(graph, stage)) return *std::move(action);
  return plain_action(graph, stage, peepholes);
}

std::vector<int> tensors_read(const BoundStage& stage) {
  std::vector<int> read;
  for (const BoundNode& node : stage.nodes)
    if (const auto* r = std::get_if<BoundRead>(&node)) read.push_back(r->tensor);
  return read;
}

}  // namespace

Executor::Executor(BoundGraph graph, const Peepholes& peepholes) : graph_(std::move(graph)) {
  constexpr std::size_t none = static_cast<std::size_t>(-1);
  std::vector<std::size_t> fused_into(graph_.stages.size(), none);
  std::vector<std::optional<Action>> fused(graph_.stages.size());
  for (std::size_t i = 0; i < graph_.stages.size(); ++i) {
    std::optional<Fusion> fusion;
    if (peepholes.batch_norm) fusion = batch_norm_fusion(graph_, i);
    if (!fusion && peepholes.softmax) fusion = softmax_fusion(graph_, i);
    if (!fusion) continue;
    for (std::size_t stage : fusion->stages) fused_into[stage] = i;
    fused[i] = std::move(fusion->action);
  }
  std::vector<std::size_t> unit_of_stage(graph_.stages.size(), none);
  for (std::size_t i = 0; i < graph_.stages.size(); ++i) {
    if (fused_into[i] != none && fused_into[i] != i) continue;
    unit_of_stage[i] = units_.size();
    const BoundStage& stage = graph_.stages[i];
    Unit unit{fused[i] ? *std::move(fused[i]) : single_action(graph_, stage, peepholes), -1, -1, {}};
    if (const auto product = weighted_product(graph_, stage)) {
      unit.activation = product->activation->tensor;
      unit.weight = product->weight->tensor;
    }
    units_.push_back(std::move(unit));
  }
  for (std::size_t i = 0; i < graph_.stages.size(); ++i)
    if (fused_into[i] != none) unit_of_stage[i] = unit_of_stage[fused_into[i]];
  plan_releases(unit_of_stage);
}

void Executor::plan_releases(const std::vector<std::size_t>& unit_of_stage) {
  std::vector<std::size_t> last(graph_.tensors.size(), units_.size());
  for (std::size_t i = 0; i < graph_.stages.size(); ++i) {
    for (int tensor : tensors_read(graph_.stages[i])) {
      std::size_t& unit = last[static_cast<std::size_t>(tensor)];
      unit = unit == units_.size() ? unit_of_stage[i] : std::max(unit, unit_of_stage[i]);
    }
  }
  for (const BoundStage& stage : graph_.stages) {
    const std::size_t unit = last[static_cast<std::size_t>(stage.out)];
    if (stage.out == graph_.output || stage.stat || unit == units_.size()) continue;
    units_[unit].last_reads.push_back(stage.out);
  }
}

std::vector<std::string> Executor::plan() const {
  std::vector<std::string> names;
  for (const Unit& unit : units_) names.push_back(unit.action.name);
  return names;
}

void Executor::run_hooked(const Unit& unit, Tensors& tensors, const OperandHook& hook) {
  at::Tensor& activation = tensors[static_cast<std::size_t>(unit.activation)];
  at::Tensor& weight = tensors[static_cast<std::size_t>(unit.weight)];
  const at::Tensor plain_activation = activation;
  const at::Tensor plain_weight = weight;
  hook(unit.weight, activation, weight);
  unit.action.run(tensors);
  tensors[static_cast<std::size_t>(unit.activation)] = plain_activation;
  tensors[static_cast<std::size_t>(unit.weight)] = plain_weight;
}

void Executor::run(Tensors& tensors, const OperandHook& hook) const {
  tensors.resize(graph_.tensors.size());
  for (const Unit& unit : units_) {
    if (hook && unit.weight >= 0) {
      run_hooked(unit, tensors, hook);
    } else {
      unit.action.run(tensors);
    }
    for (int tensor : unit.last_reads) tensors[static_cast<std::size_t>(tensor)].reset();
  }
}

}  // namespace kasimir
