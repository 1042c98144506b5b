// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <array>

namespace kasimir {

std::span<const Strategy> strategies() {
  static const std::array all{random_strategy, evolution_strategy, nsga2_strategy, tree_strategy, surrogate_strategy};
  return all;
}

const Strategy& strategy_named(std::string_view name) {
  std::vector<std::string> known;
  for (const Strategy& strategy : strategies()) {
    if (strategy.name == name) return strategy;
    known.emplace_back(strategy.name);
  }
  throw input_error("unknown strategy `{}`, {}", name, suggestion(name, known));
}

study::Point point_of(double accuracy, const study::Counts& network) {
  return {accuracy, static_cast<double>(network.macs), static_cast<double>(network.params)};
}

study::Point front_reference(const study::Point& original) {
  return {original.accuracy - front_depth, original.macs, original.params};
}

}  // namespace kasimir
