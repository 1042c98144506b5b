// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/network.h"

#include "kasimir/base/error.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"
#include "kasimir/network/norms.h"
#include "kasimir/network/weights.h"

#include <algorithm>

namespace kasimir {

std::optional<int> Network::find(std::string_view name) const {
  const auto found =
      std::find_if(layers_.begin(), layers_.end(), [&](const Layer& layer) { return layer.name == name; });
  if (found == layers_.end()) return std::nullopt;
  return static_cast<int>(found - layers_.begin());
}

Shape3 Network::input_of(int index) const {
  const std::vector<int>& inputs = layer(index).inputs;
  KASIMIR_CHECK(!inputs.empty(), "layer {} of {} has no input", index, name_);
  return layer(inputs.front()).out;
}

Network Network::with_start(std::vector<NamedTensor> weights) && {
  start_ = std::make_shared<const std::vector<NamedTensor>>(std::move(weights));
  return std::move(*this);
}

Network Network::with_classes(std::int64_t classes) const {
  NetworkBuilder changed(name_, input());
  const auto last = head_of(*this);
  if (!last)
    throw input_error(
        "network `{}` has {} classes, asked for {}: it ends with `{}` ({}), which has no number of outputs", name_,
        this->classes(), classes, layers_.back().name, op_text(layers_.back().op));
  const auto head = static_cast<std::size_t>(*last);
  for (std::size_t i = 1; i < layers_.size(); ++i) {
    Op op = layers_[i].op;
    if (i == head) {
      if (auto* conv = std::get_if<layer::Conv>(&op)) conv->out = classes;
      if (auto* linear = std::get_if<layer::Linear>(&op)) linear->out = classes;
    }
    changed.add(layers_[i].name, op, layers_[i].inputs);
  }
  Network result = std::move(changed).finish();
  if (start_ == nullptr) return result;
  std::vector<NamedTensor> kept;
  for (const NamedTensor& tensor : *start_)
    if (tensor.name.substr(0, tensor.name.rfind('.')) != layers_[head].name) kept.push_back(tensor);
  return std::move(result).with_start(std::move(kept));
}

LayerCost Network::cost() const {
  LayerCost total;
  for (const Layer& layer : layers_) total += layer.cost();
  return total;
}

std::string Network::str() const {
  using Align = Table::Align;
  Table table({{"#", ""},
               {"layer", "", Align::left},
               {"what", "", Align::left},
               {"from", "", Align::left},
               {"output", "", Align::left},
               {"MACs", ""},
               {"params", ""}});
  for (std::size_t i = 0; i < layers_.size(); ++i) {
    const Layer& layer = layers_[i];
    std::vector<std::string> from;
    for (const int input : layer.inputs) from.push_back(std::to_string(input));
    const LayerCost cost = layer.cost();
    table.row({std::to_string(i), layer.name, op_text(layer.op), join(from, " "), layer.out.str(), grouped(cost.macs),
               grouped(cost.params)});
  }
  const LayerCost total = cost();
  table.row({"", "total", "", "", "", grouped(total.macs), grouped(total.params)});
  return fmt::format("{}: {} -> {} classes, {} MACs, {} parameters\n{}", name_, input().str(), classes(),
                     si(static_cast<double>(total.macs)), si(static_cast<double>(total.params)), table.str());
}

}  // namespace kasimir
