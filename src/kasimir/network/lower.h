// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/network/weights.h"

namespace kasimir {

/// A whole network at inference as stages, bound at one batch size: layers and kernels speak one language, so that
/// every reader of stages reads networks. Images are [n, c, h, w], scores [n, c, h=1, w=1].
struct NetworkGraph {
  BoundGraph graph;
  std::vector<std::string> names;  ///< per tensor: what NamedTensor calls it; empty for activations
};

/// Statistics are stored tensors, dropout is gone. A maximum over windows that reach outside the image is rejected
/// where its input may be negative: a stage reads zero there, a library ignores the place.
Outcome<NetworkGraph> lower_network(const NetworkPlan& plan, std::int64_t batch);

/// Every tensor that the graph reads and does not define, by its name. @throws Error (input) for a name that is missing
/// or has another number of values.
std::vector<std::vector<float>> values_of(const NetworkGraph& network, const std::vector<NamedTensor>& weights);

}  // namespace kasimir
