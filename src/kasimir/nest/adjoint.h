// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <vector>

namespace kasimir {

/// A graph with its reverse mode: the stages of the graph, then those of the gradients.
struct Adjoint {
  /// Tensors and stages of the graph keep their numbers; batch statistics are ordinary sums. Beside the graph's input
  /// the cotangent has the role `input`.
  BoundGraph graph;
  std::size_t forward_stages = 0;  ///< how many stages, the first ones, are the graph's own
  int cotangent = -1;              ///< tensor: the gradient of some loss by the graph's output, shaped like it
  /// Per tensor of the graph: the tensor that holds the loss's gradient by it; -1 where it has none.
  std::vector<int> gradient;
};

/// Reverse mode as stages. Every gradient is gathered: for each read `T[c..]` of a stage `out = f * sum of e` there is
/// a stage `dT[t..] = f * sum of dout * de/dT` whose iterators are solved from `c = t`. A coordinate that joins digits
/// gives them back as digits of the left side; one that is affine is solved for one of its iterators, and the read of
/// `dout` (or of a weight) at the solved place, which is zero outside, is the test that the iterator exists. Where no
/// read tests it, a tensor of ones does. A stride is solved by phases: the coordinate becomes a multiple and a rest.
///
/// The gradient of a maximum is split evenly among the largest. Stabilisers have none.
Adjoint differentiate(const BoundGraph& graph);

}  // namespace kasimir
