// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/weights.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"

#include <cmath>

namespace kasimir {
namespace {

LayerPart part(const std::string& layer, const char* name, PartKind kind, std::vector<std::int64_t> shape) {
  LayerPart made;
  made.name = layer + "." + name;
  made.kind = kind;
  made.shape = std::move(shape);
  return made;
}

std::vector<LayerPart> weighted(const std::string& layer, std::vector<std::int64_t> shape, bool bias) {
  std::int64_t fan_in = 1;
  for (std::size_t i = 1; i < shape.size(); ++i) fan_in *= shape[i];
  const std::int64_t out = shape[0];
  std::vector<LayerPart> parts{part(layer, "weight", PartKind::weight, std::move(shape))};
  parts[0].fan_in = fan_in;
  if (bias) parts.push_back(part(layer, "bias", PartKind::bias, {out}));
  return parts;
}

float random_value(const LayerPart& part, Rng& rng) {
  switch (part.kind) {
    case PartKind::weight:
      // The gain of 2 keeps the variance through rectifiers (He et al., arXiv 1502.01852).
      return static_cast<float>(rng.normal() * std::sqrt(2.0 / static_cast<double>(part.fan_in)));
    case PartKind::bias:
    case PartKind::norm_offset:
    case PartKind::running_mean:
      return static_cast<float>(0.1 * rng.normal());
    case PartKind::norm_scale:
      return static_cast<float>(1.0 + 0.1 * rng.normal());
    case PartKind::running_var:
      return static_cast<float>(0.8 + 0.4 * rng.unit());
    case PartKind::kernel_stat:
      return static_cast<float>(part.start + 0.3 * rng.unit());
    case PartKind::kernel_weight:
      switch (part.role) {
        case WeightRole::linear:
          return static_cast<float>(rng.normal() / std::sqrt(static_cast<double>(part.fan_in)));
        case WeightRole::scale:
          return static_cast<float>(1.0 + 0.1 * rng.normal());
        case WeightRole::offset:
          return static_cast<float>(0.1 * rng.normal());
      }
  }
  KASIMIR_CHECK(false, "part {} is of no kind", part.name);
}

}  // namespace

std::int64_t LayerPart::elements() const {
  std::int64_t product = 1;
  for (std::int64_t extent : shape) product *= extent;
  return product;
}

bool LayerPart::learned() const {
  return kind != PartKind::running_mean && kind != PartKind::running_var && kind != PartKind::kernel_stat;
}

std::vector<LayerPart> kernel_parts(const std::string& name, const Kernel& kernel, const Site& site) {
  const auto graph = lower_at(kernel, site, 1);
  KASIMIR_CHECK(graph.ok(), "kernel {} at {}: {}", kernel.name, site.str(), graph.rejection().str());
  std::vector<LayerPart> parts;
  const auto add = [&](int index, PartKind kind, const Stat& stat) {
    const BoundTensor& tensor = graph->tensors[static_cast<std::size_t>(index)];
    LayerPart part{
        name + "." + tensor.name, kind, {}, tensor.weight_role, tensor.fan_in, stat.start, stat.momentum, index};
    for (const auto& axis : tensor.axes) part.shape.push_back(axis.extent);
    parts.push_back(std::move(part));
  };
  for (std::size_t t = 0; t < graph->tensors.size(); ++t)
    if (graph->tensors[t].role == Role::weight) add(static_cast<int>(t), PartKind::kernel_weight, {0, 0});
  for (const BoundStage& stage : graph->stages)
    if (stage.stat) add(stage.out, PartKind::kernel_stat, *stage.stat);
  return parts;
}

std::vector<LayerPart> layer_parts(const NetworkPlan& plan, int index) {
  const Layer& of = plan.network->layer(index);
  const auto replaced = plan.replaced.find(index);
  if (replaced != plan.replaced.end()) return kernel_parts(of.name, replaced->second.first, replaced->second.second);
  if (const auto* conv = std::get_if<layer::Conv>(&of.op))
    return weighted(of.name, {conv->out, conv->in / conv->groups, conv->kernel_h, conv->kernel_w}, conv->bias);
  if (const auto* linear = std::get_if<layer::Linear>(&of.op))
    return weighted(of.name, {linear->out, linear->in}, linear->bias);
  if (const auto* norm = std::get_if<layer::BatchNorm>(&of.op))
    return {part(of.name, "weight", PartKind::norm_scale, {norm->channels}),
            part(of.name, "bias", PartKind::norm_offset, {norm->channels}),
            part(of.name, "running_mean", PartKind::running_mean, {norm->channels}),
            part(of.name, "running_var", PartKind::running_var, {norm->channels})};
  if (const auto* norm = std::get_if<layer::ChannelNorm>(&of.op))
    return {part(of.name, "weight", PartKind::norm_scale, {norm->channels}),
            part(of.name, "bias", PartKind::norm_offset, {norm->channels})};
  if (std::holds_alternative<layer::LearnedMap>(of.op))
    return {part(of.name, "map", PartKind::bias, {of.out.c, of.out.h, of.out.w})};
  return {};
}

const std::vector<float>* start_values(const Network& network, const LayerPart& part) {
  if (network.start() == nullptr) return nullptr;
  for (const NamedTensor& tensor : *network.start())
    if (tensor.name == part.name && tensor.shape == part.shape) return &tensor.values;
  return nullptr;
}

std::vector<NamedTensor> random_weights(const NetworkPlan& plan, std::uint64_t seed) {
  std::vector<NamedTensor> tensors;
  for (std::size_t i = 0; i < plan.network->layers().size(); ++i) {
    // One stream per layer: replacing one leaves the others as they are.
    Rng rng(seed, i);
    const bool replaced = plan.replaced.contains(static_cast<int>(i));
    for (const LayerPart& part : layer_parts(plan, static_cast<int>(i))) {
      NamedTensor tensor{part.name, part.shape, part.learned(), {}};
      if (const auto* start = replaced ? nullptr : start_values(*plan.network, part)) {
        tensor.values = *start;
        tensors.push_back(std::move(tensor));
        continue;
      }
      tensor.values.resize(static_cast<std::size_t>(part.elements()));
      for (float& value : tensor.values) value = random_value(part, rng);
      tensors.push_back(std::move(tensor));
    }
  }
  return tensors;
}

}  // namespace kasimir
