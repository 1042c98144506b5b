// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/stage_match.h"

#include <algorithm>

namespace kasimir {

const Apply* Pattern::apply(int node, Fn fn) const {
  const auto* found = std::get_if<Apply>(&at(node));
  return found != nullptr && found->fn == fn ? found : nullptr;
}

const BoundRead* Pattern::read(int node) const { return std::get_if<BoundRead>(&at(node)); }

std::optional<Rational> Pattern::constant(int node) const {
  const auto* found = std::get_if<Constant>(&at(node));
  if (found == nullptr || found->half_pi) return std::nullopt;
  return found->value;
}

std::optional<std::vector<int>> plain_iters(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read) {
  const BoundTensor& tensor = graph.tensors[static_cast<std::size_t>(read.tensor)];
  std::vector<int> iters;
  for (std::size_t a = 0; a < read.at.size(); ++a) {
    const BoundCoord& c = read.at[a];
    if (c.terms.size() != 1 || c.terms[0].second != 1 || c.offset != 0 || c.wrap) return std::nullopt;
    const int iter = c.terms[0].first;
    if (stage.iters[static_cast<std::size_t>(iter)].extent != tensor.axes[a].extent) return std::nullopt;
    if (std::ranges::count(iters, iter) > 0) return std::nullopt;
    iters.push_back(iter);
  }
  return iters;
}

std::optional<std::vector<int>> plain_left(const BoundStage& stage) {
  std::vector<int> iters;
  for (const LeftAxis& axis : stage.left) {
    if (axis.digits.size() != 1) return std::nullopt;
    iters.push_back(axis.digits[0]);
  }
  return iters;
}

bool rename(const BoundStage& from, int a, const BoundStage& to, int b, Renaming& renaming) {
  if (from.iters[static_cast<std::size_t>(a)].extent != to.iters[static_cast<std::size_t>(b)].extent) return false;
  const auto known = renaming.find(a);
  if (known != renaming.end()) return known->second == b;
  if (std::ranges::any_of(renaming, [&](const auto& pair) { return pair.second == b; })) return false;
  renaming[a] = b;
  return true;
}

bool same_read(const BoundStage& from, const BoundRead& a, const BoundStage& to, const BoundRead& b,
               Renaming& renaming) {
  if (a.tensor != b.tensor) return false;
  for (std::size_t i = 0; i < a.at.size(); ++i) {
    const BoundCoord& x = a.at[i];
    const BoundCoord& y = b.at[i];
    if (x.offset != y.offset || x.wrap != y.wrap || x.terms.size() != y.terms.size()) return false;
    for (std::size_t t = 0; t < x.terms.size(); ++t) {
      if (x.terms[t].second != y.terms[t].second) return false;
      if (!rename(from, x.terms[t].first, to, y.terms[t].first, renaming)) return false;
    }
  }
  return true;
}

}  // namespace kasimir
