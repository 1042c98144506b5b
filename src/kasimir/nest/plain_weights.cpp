// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/expression.h"
#include "kasimir/nest/passes.h"
#include "kasimir/nest/substitute.h"
#include "kasimir/nest/training.h"

#include <algorithm>
#include <map>

namespace kasimir {
namespace {

/// The sign of the iterator's coefficients in the read: 0 where it does not occur or where they differ.
int sign_in(const BoundRead& read, int iter) {
  int sign = 0;
  for (const BoundCoord& coord : read.at)
    for (const auto& [term, factor] : coord.terms) {
      if (term != iter) continue;
      const int here = factor < 0 ? -1 : 1;
      if (coord.wrap || (sign != 0 && sign != here)) return 0;
      sign = here;
    }
  return sign;
}

/// Counts the iterator down instead of up.
void turn_round(BoundStage& stage, int iter) {
  const std::int64_t last = stage.iters[static_cast<std::size_t>(iter)].extent - 1;
  for (BoundNode& node : stage.nodes) {
    auto* read = std::get_if<BoundRead>(&node);
    if (read == nullptr) continue;
    for (BoundCoord& coord : read->at)
      for (auto& [term, factor] : coord.terms) {
        if (term != iter) continue;
        coord.offset += factor * last;
        factor = -factor;
      }
  }
}

bool wraps(const BoundRead& read) {
  return std::ranges::any_of(read.at, [](const BoundCoord& coord) { return coord.wrap.has_value(); });
}

/// The read goes backwards or leaves the tensor.
bool awkward(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read) {
  const auto& axes = graph.tensors[static_cast<std::size_t>(read.tensor)].axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const auto range = range_of(stage, read.at[a]);
    if (range.first < 0 || range.second >= axes[a].extent) return true;
    if (std::ranges::any_of(read.at[a].terms, [](const auto& term) { return term.second < 0; })) return true;
  }
  return false;
}

/// The stage that copies what `read` reads into a tensor with one axis per iterator; the read becomes plain.
BoundStage split_off(BoundGraph& graph, const BoundStage& stage, BoundRead& read) {
  BoundStage copy;
  copy.step = stage.step;
  BoundTensor tensor;
  tensor.name = graph.tensors[static_cast<std::size_t>(read.tensor)].name + ".plain";
  BoundRead from = read;
  BoundRead plain;
  std::map<int, int> renamed;
  for (BoundCoord& coord : from.at)
    for (auto& term : coord.terms) {
      const BoundIter& iter = stage.iters[static_cast<std::size_t>(term.first)];
      const auto [known, added] = renamed.emplace(term.first, static_cast<int>(copy.iters.size()));
      if (added) {
        copy.iters.push_back(iter);
        copy.left.push_back({iter.kind, {known->second}});
        tensor.axes.push_back({iter.kind, iter.extent});
        plain.at.push_back({{{term.first, 1}}, 0, {}});
      }
      term.first = known->second;
    }
  graph.tensors.push_back(std::move(tensor));
  copy.out = plain.tensor = static_cast<int>(graph.tensors.size()) - 1;
  copy.nodes = {std::move(from)};
  read = std::move(plain);
  return copy;
}

}  // namespace

BoundGraph plain_weights(const BoundGraph& graph) {
  BoundGraph result = graph;
  result.stages.clear();
  std::vector<bool> known = weight_only(graph);
  for (BoundStage stage : graph.stages) {
    auto* a = stage.nodes.size() == 3 ? std::get_if<BoundRead>(&stage.nodes[0]) : nullptr;
    auto* b = stage.nodes.size() == 3 ? std::get_if<BoundRead>(&stage.nodes[1]) : nullptr;
    if (stage.reduce == Reduce::sum && a != nullptr && b != nullptr) {
      if (known[static_cast<std::size_t>(a->tensor)]) std::swap(a, b);
      if (known[static_cast<std::size_t>(b->tensor)] && !known[static_cast<std::size_t>(a->tensor)] && !wraps(*b)) {
        for (int iter : stage.reduced)
          if (sign_in(*a, iter) < 0) turn_round(stage, iter);
        if (awkward(result, stage, *b)) {
          BoundStage copy = split_off(result, stage, *b);
          known.push_back(true);
          result.stages.push_back(std::move(copy));
        }
      }
    }
    result.stages.push_back(std::move(stage));
  }
  return result;
}

}  // namespace kasimir
