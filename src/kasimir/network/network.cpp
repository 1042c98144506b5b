// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/network.h"

#include "kasimir/base/error.h"
#include "kasimir/base/table.h"
#include "kasimir/base/text.h"

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
