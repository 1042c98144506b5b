// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/cost.h"

namespace kasimir {
namespace {

/// The product of the iterators' extents, for one image.
Size per_image(const Stage& stage, bool with_reduced) {
  Size points(1);
  std::vector<bool> reduced(stage.iters.size(), false);
  for (int r : stage.reduced) reduced[static_cast<std::size_t>(r)] = true;
  for (std::size_t i = 0; i < stage.iters.size(); ++i)
    if (stage.iters[i].kind != AxisKind::batch && (with_reduced || !reduced[i])) points *= stage.iters[i].extent;
  return points;
}

bool reads_tensors(const Stage& stage, int node) {
  const auto& n = stage.nodes[static_cast<std::size_t>(node)];
  if (std::holds_alternative<Constant>(n)) return false;
  if (const auto* apply = std::get_if<Apply>(&n))
    return reads_tensors(stage, apply->a) || (apply->b >= 0 && reads_tensors(stage, apply->b));
  return true;
}

}  // namespace

Cost cost(const Graph& graph) {
  Cost total;
  for (const Tensor& tensor : graph.tensors) {
    if (tensor.role != Role::weight) continue;
    Size count(1);
    for (const auto& axis : tensor.axes) count *= axis.extent;
    total.params += count;
  }
  for (const Stage& stage : graph.stages) {
    const Size points = per_image(stage, true);
    // What puts the result's axes in order is no work of a step: whoever reads the result may read it in any order.
    if (stage.step >= 0) total.elements += per_image(stage, false);
    std::int64_t products = 0;
    std::int64_t ops = stage.reduce == Reduce::none ? 0 : 1;
    for (const auto& node : stage.nodes) {
      const auto* apply = std::get_if<Apply>(&node);
      if (apply == nullptr) continue;
      ops += fn_info(apply->fn).ops;
      if (apply->fn == Fn::mul && reads_tensors(stage, apply->a) && reads_tensors(stage, apply->b)) ++products;
    }
    if (ops > 0) total.ops += points * Size(ops);
    // A statistic over the batch is folded away at inference: it is no work of the kernel that runs.
    if (stage.reduce == Reduce::sum && products > 0 && !stage.stat) total.macs += points * Size(products);
  }
  return total;
}

}  // namespace kasimir
