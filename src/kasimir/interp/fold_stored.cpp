// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/fold_stored.h"

#include "kasimir/base/error.h"
#include "kasimir/interp/real.h"

#include <set>

namespace kasimir {
namespace {

class StoredFolder {
 public:
  StoredFolder(BoundGraph& graph, BoundStage& stage, TensorValues<double>& values)
      : graph_(graph), stage_(stage), values_(values), stored_(stage.nodes.size()), iters_(stage.nodes.size()) {}

  void run() {
    for (std::size_t i = 0; i < stage_.nodes.size(); ++i) classify(i);
    for (std::size_t i = 0; i < stage_.nodes.size(); ++i)
      if (stored_[i] && !std::holds_alternative<BoundRead>(stage_.nodes[i]) && is_used(i)) replace(i);
    drop_unused();
  }

 private:
  void classify(std::size_t i) {
    if (const auto* read = std::get_if<BoundRead>(&stage_.nodes[i])) {
      const Role role = graph_.tensors[static_cast<std::size_t>(read->tensor)].role;
      stored_[i] = role == Role::weight || role == Role::stat;
      for (const BoundCoord& coord : read->at)
        for (const auto& term : coord.terms) iters_[i].insert(term.first);
    } else if (const auto* apply = std::get_if<Apply>(&stage_.nodes[i])) {
      const auto a = static_cast<std::size_t>(apply->a);
      stored_[i] = stored_[a];
      iters_[i] = iters_[a];
      if (apply->b < 0) return;
      const auto b = static_cast<std::size_t>(apply->b);
      stored_[i] = stored_[i] && stored_[b];
      iters_[i].insert(iters_[b].begin(), iters_[b].end());
    } else {
      stored_[i] = true;
    }
  }

  /// By a node that is not stored, or as the stage's value.
  [[nodiscard]] bool is_used(std::size_t node) const {
    if (node + 1 == stage_.nodes.size()) return true;
    for (std::size_t i = node + 1; i < stage_.nodes.size(); ++i) {
      const auto* apply = std::get_if<Apply>(&stage_.nodes[i]);
      if (apply == nullptr || stored_[i]) continue;
      if (apply->a == static_cast<int>(node) || apply->b == static_cast<int>(node)) return true;
    }
    return false;
  }

  void replace(std::size_t node) {
    const std::vector<int> order(iters_[node].begin(), iters_[node].end());
    BoundTensor tensor;
    tensor.name = fmt::format("{}.{}", graph_.tensors[static_cast<std::size_t>(stage_.out)].name, node);
    tensor.role = Role::weight;
    tensor.weight_role = WeightRole::offset;
    BoundRead read{static_cast<int>(graph_.tensors.size()), {}};
    for (const int iter : order) {
      const auto& of = stage_.iters[static_cast<std::size_t>(iter)];
      tensor.axes.push_back({of.kind, of.extent});
      read.at.push_back({{{iter, 1}}, 0, {}});
    }
    std::vector<std::int64_t> at(stage_.iters.size(), 0);
    std::vector<double> computed;
    do computed.push_back(value_at(node, at));
    while (detail::advance(stage_, order, at));
    graph_.tensors.push_back(std::move(tensor));
    values_.resize(graph_.tensors.size());
    values_.back() = std::move(computed);
    stage_.nodes[node] = std::move(read);
  }

  double value_at(std::size_t node, const std::vector<std::int64_t>& at) const {
    if (const auto* read = std::get_if<BoundRead>(&stage_.nodes[node])) {
      const std::int64_t place = detail::position(detail::prepare(graph_, *read), at);
      KASIMIR_CHECK(place >= 0, "a stored tensor is read outside");
      return values_[static_cast<std::size_t>(read->tensor)][static_cast<std::size_t>(place)];
    }
    const auto* apply = std::get_if<Apply>(&stage_.nodes[node]);
    if (apply == nullptr) return RealDomain::constant(std::get<Constant>(stage_.nodes[node]));
    const double a = value_at(static_cast<std::size_t>(apply->a), at);
    if (apply->b < 0) return RealDomain::apply(apply->fn, a);
    return RealDomain::apply(apply->fn, a, value_at(static_cast<std::size_t>(apply->b), at));
  }

  void drop_unused() {
    std::vector<bool> used(stage_.nodes.size(), false);
    used.back() = true;
    for (std::size_t i = stage_.nodes.size(); i-- > 0;) {
      const auto* apply = std::get_if<Apply>(&stage_.nodes[i]);
      if (!used[i] || apply == nullptr) continue;
      used[static_cast<std::size_t>(apply->a)] = true;
      if (apply->b >= 0) used[static_cast<std::size_t>(apply->b)] = true;
    }
    std::vector<BoundNode> kept;
    std::vector<int> renamed(stage_.nodes.size(), -1);
    for (std::size_t i = 0; i < stage_.nodes.size(); ++i) {
      if (!used[i]) continue;
      renamed[i] = static_cast<int>(kept.size());
      kept.push_back(std::move(stage_.nodes[i]));
      auto* apply = std::get_if<Apply>(&kept.back());
      if (apply == nullptr) continue;
      apply->a = renamed[static_cast<std::size_t>(apply->a)];
      if (apply->b >= 0) apply->b = renamed[static_cast<std::size_t>(apply->b)];
    }
    stage_.nodes = std::move(kept);
  }

  BoundGraph& graph_;
  BoundStage& stage_;
  TensorValues<double>& values_;
  std::vector<bool> stored_;
  std::vector<std::set<int>> iters_;  ///< that a node depends on
};

}  // namespace

void fold_stored(BoundGraph& graph, TensorValues<double>& values) {
  values.resize(graph.tensors.size());
  for (BoundStage& stage : graph.stages) StoredFolder(graph, stage, values).run();
}

}  // namespace kasimir
