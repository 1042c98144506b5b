// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/norms.h"

#include "kasimir/base/error.h"
#include "kasimir/network/weights.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

const std::vector<float>* start_of(const Network& network, const std::string& tensor) {
  const auto found = std::ranges::find(*network.start(), tensor, &NamedTensor::name);
  return found == network.start()->end() ? nullptr : &found->values;
}

/// The tensors of a batch norm that gives back what it is given, but for the bias that the layer before has lost.
void add_norm(const std::string& name, const std::vector<float>& bias, const ChannelMoments& results,
              std::vector<NamedTensor>& to) {
  std::vector<float> factor, offset, mean, variance;
  for (std::size_t c = 0; c < bias.size(); ++c) {
    factor.push_back(static_cast<float>(std::sqrt(results.variance[c] + layer::BatchNorm::epsilon)));
    offset.push_back(static_cast<float>(results.mean[c]));
    mean.push_back(static_cast<float>(results.mean[c] - static_cast<double>(bias[c])));
    variance.push_back(static_cast<float>(results.variance[c]));
  }
  const std::vector<std::int64_t> shape{std::ssize(bias)};
  to.push_back({name + ".weight", shape, true, std::move(factor)});
  to.push_back({name + ".bias", shape, true, std::move(offset)});
  to.push_back({name + ".running_mean", shape, false, std::move(mean)});
  to.push_back({name + ".running_var", shape, false, std::move(variance)});
}

}  // namespace

std::optional<int> head_of(const Network& network) {
  const auto keeps = [](const Layer& layer) {
    return std::holds_alternative<layer::Activation>(layer.op) || std::holds_alternative<layer::Dropout>(layer.op) ||
           std::holds_alternative<layer::GlobalAvgPool>(layer.op) || std::holds_alternative<layer::AvgPool>(layer.op);
  };
  std::size_t last = network.layers().size() - 1;
  while (last > 0 && keeps(network.layers()[last])) --last;
  const Op& op = network.layers()[last].op;
  if (!std::holds_alternative<layer::Conv>(op) && !std::holds_alternative<layer::Linear>(op)) return std::nullopt;
  return static_cast<int>(last);
}

bool starts_whole(const NetworkPlan& plan) {
  if (!plan.replaced.empty()) return false;
  for (std::size_t i = 0; i < plan.network->layers().size(); ++i)
    for (const LayerPart& part : layer_parts(plan, static_cast<int>(i)))
      if (start_values(*plan.network, part) == nullptr) return false;
  return true;
}

std::string norm_name(const Network& network, int layer) {
  std::string name = network.layer(layer).name + "_norm";
  const auto taken = [&](const Layer& other) { return other.name == name || other.name.starts_with(name + "."); };
  while (std::ranges::any_of(network.layers(), taken)) name += "_";
  return name;
}

std::vector<int> convolutions_without_norms(const Network& network) {
  std::vector<int> found;
  if (network.start() == nullptr) return found;
  const std::optional<int> head = head_of(network);
  for (std::size_t i = 0; i < network.layers().size(); ++i) {
    const Layer& layer = network.layers()[i];
    if (std::holds_alternative<layer::BatchNorm>(layer.op) || std::holds_alternative<layer::ChannelNorm>(layer.op))
      return {};
    const auto* conv = std::get_if<layer::Conv>(&layer.op);
    if (conv != nullptr && conv->bias && head != static_cast<int>(i) && layer.out.h * layer.out.w > 1 &&
        start_of(network, layer.name + ".weight") != nullptr && start_of(network, layer.name + ".bias") != nullptr)
      found.push_back(static_cast<int>(i));
  }
  return found;
}

Network with_norms(const Network& network, const std::map<int, ChannelMoments>& results) {
  NetworkBuilder changed(network.name(), network.input());
  std::vector<int> renamed{0};
  std::vector<NamedTensor> tensors = *network.start();
  for (std::size_t i = 1; i < network.layers().size(); ++i) {
    const Layer& layer = network.layers()[i];
    std::vector<int> inputs;
    for (const int from : layer.inputs) inputs.push_back(renamed[static_cast<std::size_t>(from)]);
    const auto moments = results.find(static_cast<int>(i));
    if (moments == results.end()) {
      renamed.push_back(changed.add(layer.name, layer.op, std::move(inputs)));
      continue;
    }
    layer::Conv conv = std::get<layer::Conv>(layer.op);
    const std::string bias = layer.name + ".bias";
    const auto lost = std::ranges::find(tensors, bias, &NamedTensor::name);
    KASIMIR_CHECK(conv.bias && lost != tensors.end(), "{} of {} has no bias", layer.name, network.name());
    const std::string norm = norm_name(network, static_cast<int>(i));
    std::vector<NamedTensor> added;
    add_norm(norm, lost->values, moments->second, added);
    tensors.insert(tensors.erase(lost), added.begin(), added.end());
    conv.bias = false;
    const int made = changed.add(layer.name, conv, std::move(inputs));
    renamed.push_back(changed.add(norm, layer::BatchNorm{}, {made}));
  }
  return std::move(changed).finish().with_start(std::move(tensors));
}

}  // namespace kasimir
