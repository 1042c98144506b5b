// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/quantization.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"
#include "kasimir/number/fit.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

const BoundRead* as_read(const BoundStage& stage, int node) {
  return std::get_if<BoundRead>(&stage.nodes[static_cast<std::size_t>(node)]);
}

/// The leading axes of a read whose coordinates use no reduced iterator.
int axes_not_summed(const BoundStage& stage, const BoundRead& read) {
  const auto summed = [&](const BoundCoord& coord) {
    return std::ranges::any_of(coord.terms, [&](const auto& term) {
      return std::ranges::find(stage.reduced, term.first) != stage.reduced.end();
    });
  };
  return static_cast<int>(std::ranges::find_if(read.at, summed) - read.at.begin());
}

std::vector<std::int64_t> extents(const BoundTensor& tensor) {
  std::vector<std::int64_t> shape;
  for (const auto& axis : tensor.axes) shape.push_back(axis.extent);
  return shape;
}

void add_places_of_kernel(const Layer& layer, int index, const Kernel& kernel, const Site& site,
                          std::vector<WeightedPlace>& places) {
  const auto graph = lower_at(kernel, site, 1);
  KASIMIR_CHECK(graph.ok(), "kernel {} at {}: {}", kernel.name, site.str(), graph.rejection().str());
  for (const BoundStage& stage : graph->stages) {
    const auto product = weighted_product(*graph, stage);
    if (!product) continue;
    const BoundTensor& weight = graph->tensors[static_cast<std::size_t>(product->weight->tensor)];
    places.push_back({layer.name + "." + weight.name, index, extents(weight), axes_not_summed(stage, *product->weight),
                      domain(stage)});
  }
}

void require_step(const std::string& of, float step) {
  if (!(step > 0) || !std::isfinite(step))
    throw input_error("quantization of `{}`: a step of {}, needed is a finite one above 0", of, step);
}

void require_place_fits(const WeightedPlace& place, const QuantizedPlace& quantized) {
  const std::string where = fmt::format("quantization of `{}`", place.weight);
  require_legal(quantized.weight, where);
  require_legal(quantized.activation, where);
  if (quantized.channel_axes < 0 || quantized.channel_axes > place.channel_axes)
    throw input_error("{}: steps along {} axes, {} of the weight are not summed over", where, quantized.channel_axes,
                      place.channel_axes);
  const std::int64_t steps = slice_count(place.shape, quantized.channel_axes);
  if (static_cast<std::int64_t>(quantized.weight_steps.size()) != steps)
    throw input_error("{}: {} weight steps, needed are {}", where, quantized.weight_steps.size(), steps);
  for (const float step : quantized.weight_steps) require_step(place.weight, step);
  require_step(place.weight, quantized.activation_step);
}

void require_entries_fit(const NetworkPlan& plan, const std::vector<WeightedPlace>& places,
                         const Quantization& quantization) {
  std::vector<std::string> names;
  for (const WeightedPlace& place : places) {
    names.push_back(place.weight);
    const auto found = quantization.find(place.weight);
    if (found != quantization.end()) require_place_fits(place, found->second);
  }
  for (const auto& [name, quantized] : quantization)
    if (std::ranges::find(names, name) == names.end())
      throw input_error("the quantization has `{}`, which is no weighted sum of network `{}`, {}", name,
                        plan.network->name(), suggestion(name, names));
}

}  // namespace

std::optional<WeightedProduct> weighted_product(const BoundGraph& graph, const BoundStage& stage) {
  if (stage.reduce == Reduce::max || stage.nodes.size() != 3) return std::nullopt;
  const auto* product = std::get_if<Apply>(&stage.nodes.back());
  if (product == nullptr || product->fn != Fn::mul || product->a == product->b) return std::nullopt;
  const BoundRead* a = as_read(stage, product->a);
  const BoundRead* b = as_read(stage, product->b);
  if (a == nullptr || b == nullptr) return std::nullopt;
  const auto is_stored = [&](const BoundRead& read) {
    const Role role = graph.tensors[static_cast<std::size_t>(read.tensor)].role;
    return role == Role::weight || role == Role::stat;
  };
  if (is_stored(*a)) std::swap(a, b);
  const BoundTensor& weight = graph.tensors[static_cast<std::size_t>(b->tensor)];
  const auto wraps = [](const BoundCoord& coord) { return coord.wrap.has_value(); };
  if (std::ranges::any_of(a->at, wraps) || std::ranges::any_of(b->at, wraps)) return std::nullopt;
  if (is_stored(*a) || weight.role != Role::weight || weight.weight_role != WeightRole::linear) return std::nullopt;
  return WeightedProduct{a, b};
}

std::vector<WeightedPlace> weighted_places(const NetworkPlan& plan) {
  std::vector<WeightedPlace> places;
  for (std::size_t i = 0; i < plan.network->layers().size(); ++i) {
    const int index = static_cast<int>(i);
    const Layer& layer = plan.network->layer(index);
    const auto replaced = plan.replaced.find(index);
    if (replaced != plan.replaced.end()) {
      add_places_of_kernel(layer, index, replaced->second.first, replaced->second.second, places);
    } else if (std::holds_alternative<layer::Conv>(layer.op) || std::holds_alternative<layer::Linear>(layer.op)) {
      const LayerPart weight = layer_parts(plan, index).front();
      places.push_back({weight.name, index, weight.shape, 1, layer.cost().macs});
    }
  }
  return places;
}

std::vector<bool> never_negative(const Network& network) {
  std::vector<bool> known(network.layers().size(), false);
  for (std::size_t i = 0; i < known.size(); ++i) {
    const Layer& layer = network.layers()[i];
    const bool inputs = !layer.inputs.empty() && std::ranges::all_of(layer.inputs, [&](int from) {
      return known[static_cast<std::size_t>(from)];
    });
    known[i] = never_negative(layer.op, inputs);
  }
  return known;
}

std::int64_t slice_count(const std::vector<std::int64_t>& shape, int axes) {
  std::int64_t count = 1;
  for (int a = 0; a < axes; ++a) count *= shape[static_cast<std::size_t>(a)];
  return count;
}

std::map<std::string, int> folded_norms(const NetworkPlan& plan) {
  const auto& layers = plan.network->layers();
  std::vector<int> readers(layers.size(), 0);
  for (const Layer& layer : layers)
    for (const int input : layer.inputs) ++readers[static_cast<std::size_t>(input)];
  std::map<std::string, int> folded;
  for (std::size_t i = 0; i < layers.size(); ++i) {
    if (!std::holds_alternative<layer::BatchNorm>(layers[i].op)) continue;
    const int before = layers[i].inputs.front();
    const auto* conv = std::get_if<layer::Conv>(&plan.network->layer(before).op);
    if (conv == nullptr || conv->bias || plan.replaced.contains(before)) continue;
    if (readers[static_cast<std::size_t>(before)] != 1) continue;
    folded.emplace(layer_parts(plan, before).front().name, static_cast<int>(i));
  }
  return folded;
}

NormFactors norm_factors(const std::string& norm, const std::map<std::string_view, const NamedTensor*>& tensors) {
  const auto part = [&](const char* name) -> const std::vector<float>& {
    return tensors.at(norm + "." + name)->values;
  };
  const auto& gamma = part("weight");
  const auto& beta = part("bias");
  const auto& mean = part("running_mean");
  const auto& variance = part("running_var");
  NormFactors made;
  for (std::size_t c = 0; c < gamma.size(); ++c) {
    made.factor.push_back(gamma[c] / std::sqrt(variance[c] + layer::BatchNorm::epsilon));
    made.offset.push_back(beta[c] - mean[c] * made.factor.back());
  }
  return made;
}

std::vector<std::int32_t> weight_codes(const std::string& name, std::span<const float> values,
                                       const QuantizedPlace& place) {
  std::vector<QuantizerScale> scales;
  for (const float step : place.weight_steps) scales.push_back({step, 0, 0});
  return encode_all(fmt::format("tensor `{}`", name), values, scales, place.weight);
}

void require_fits(const NetworkPlan& plan, const Quantization& quantization) {
  require_entries_fit(plan, weighted_places(plan), quantization);
}

void require_covered(const NetworkPlan& plan, const Quantization& quantization) {
  const std::vector<WeightedPlace> places = weighted_places(plan);
  for (const WeightedPlace& place : places)
    if (!quantization.contains(place.weight))
      throw input_error("the quantization of network `{}` lacks `{}`", plan.network->name(), place.weight);
  require_entries_fit(plan, places, quantization);
}

}  // namespace kasimir
