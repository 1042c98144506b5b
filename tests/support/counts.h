// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

namespace kasimir::testing {

/// What a bound graph costs, counted stage by stage without any symbols: an independent way to kernel/cost.h.
struct Counts {
  double macs = 0.0;
  double params = 0.0;
  double elements = 0.0;
};

inline bool reads_tensor(const BoundStage& stage, int node) {
  const BoundNode& n = stage.nodes[static_cast<std::size_t>(node)];
  if (const auto* apply = std::get_if<Apply>(&n))
    return reads_tensor(stage, apply->a) || (apply->b >= 0 && reads_tensor(stage, apply->b));
  return std::holds_alternative<BoundRead>(n);
}

inline Counts count(const BoundGraph& graph) {
  Counts counts;
  for (const BoundTensor& tensor : graph.tensors)
    if (tensor.role == Role::weight) counts.params += static_cast<double>(elements(tensor));
  for (const BoundStage& stage : graph.stages) {
    counts.elements += static_cast<double>(elements(graph.tensors[static_cast<std::size_t>(stage.out)]));
    if (stage.reduce != Reduce::sum || stage.stat) continue;
    for (const BoundNode& node : stage.nodes) {
      const auto* apply = std::get_if<Apply>(&node);
      if (apply != nullptr && apply->fn == Fn::mul && reads_tensor(stage, apply->a) && reads_tensor(stage, apply->b))
        counts.macs += static_cast<double>(domain(stage));
    }
  }
  return counts;
}

}  // namespace kasimir::testing
