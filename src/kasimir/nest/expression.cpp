// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/expression.h"

#include <algorithm>

namespace kasimir {
namespace {

int copy_node(BoundNodes& to, const BoundNodes& from, int node, std::map<int, int>& done,
              const std::function<BoundRead(const BoundRead&)>& change) {
  if (const auto known = done.find(node); known != done.end()) return known->second;
  BoundNode made = from[static_cast<std::size_t>(node)];
  if (auto* apply = std::get_if<Apply>(&made)) {
    apply->a = copy_node(to, from, apply->a, done, change);
    if (apply->b >= 0) apply->b = copy_node(to, from, apply->b, done, change);
  } else if (const auto* read = std::get_if<BoundRead>(&made)) {
    made = change(*read);
  }
  to.push_back(std::move(made));
  return done[node] = static_cast<int>(to.size()) - 1;
}

}  // namespace

int append(BoundNodes& to, const BoundNodes& from, int root, const std::function<BoundRead(const BoundRead&)>& change) {
  std::map<int, int> done;
  return copy_node(to, from, root, done, change);
}

BoundNodes prune(const BoundNodes& nodes, int root) {
  BoundNodes kept;
  append(kept, nodes, root, [](const BoundRead& read) { return read; });
  return kept;
}

bool zero_at_zero(const BoundNodes& nodes, const std::vector<bool>& weights) {
  std::vector<bool> zero(nodes.size(), false);
  for (std::size_t i = 0; i < nodes.size(); ++i) {
    if (const auto* read = std::get_if<BoundRead>(&nodes[i]))
      zero[i] = !weights[static_cast<std::size_t>(read->tensor)];
    const auto* apply = std::get_if<Apply>(&nodes[i]);
    if (apply == nullptr) continue;
    const bool a = zero[static_cast<std::size_t>(apply->a)];
    if (apply->b < 0) {
      zero[i] = a && fn_info(apply->fn).traits.zero_to_zero;
      continue;
    }
    const bool b = zero[static_cast<std::size_t>(apply->b)];
    zero[i] = apply->fn == Fn::mul ? a || b : apply->fn == Fn::div ? a : a && b;
  }
  return zero.back();
}

int costly_functions(const BoundNodes& nodes) {
  return static_cast<int>(std::ranges::count_if(nodes, [](const BoundNode& node) {
    const auto* apply = std::get_if<Apply>(&node);
    return apply != nullptr && fn_info(apply->fn).ops > 2;
  }));
}

bool is_pointwise(const BoundStage& stage) {
  return stage.reduce == Reduce::none && !stage.stat && stage.factor == Rational(1);
}

bool reads_in_place(const BoundStage& stage, const BoundRead& read, const BoundTensor& tensor) {
  if (read.at.size() != stage.left.size()) return false;
  for (std::size_t a = 0; a < read.at.size(); ++a) {
    const BoundCoord& coord = read.at[a];
    const std::vector<int>& digits = stage.left[a].digits;
    if (coord.offset != 0 || coord.wrap) return false;
    if (coord.terms.empty() && tensor.axes[a].extent == 1) continue;
    if (digits.size() != 1 || coord.terms.size() != 1 || coord.terms[0] != std::pair<int, std::int64_t>(digits[0], 1) ||
        stage.iters[static_cast<std::size_t>(digits[0])].extent != tensor.axes[a].extent)
      return false;
  }
  return true;
}

}  // namespace kasimir
