// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/inline_copies.h"

#include "kasimir/nest/substitute.h"

#include <algorithm>

namespace kasimir {
namespace {

bool is_copy(const BoundStage& stage) {
  return stage.reduce == Reduce::none && stage.nodes.size() == 1 && std::holds_alternative<BoundRead>(stage.nodes[0]) &&
         stage.factor == Rational(1) && !stage.stat;
}

/// Some iteration reads inside: a copy may be zero just where its reader looks.
bool touches(const BoundGraph& graph, const BoundStage& reader, const BoundRead& read) {
  const auto& axes = graph.tensors[static_cast<std::size_t>(read.tensor)].axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const auto range = range_of(reader, read.at[a]);
    if (!read.at[a].wrap && (range.second < 0 || range.first >= axes[a].extent)) return false;
  }
  return true;
}

std::optional<BoundRead> through(const BoundGraph& graph, const BoundStage& copy, const BoundStage& reader,
                                 const BoundRead& read) {
  const auto digits = digits_at(copy, reader, read);
  if (!digits) return std::nullopt;
  auto composed = compose(std::get<BoundRead>(copy.nodes[0]), *digits, reader);
  if (!composed || !touches(graph, reader, *composed)) return std::nullopt;
  return composed;
}

bool wraps(const BoundRead& read) {
  return std::ranges::any_of(read.at, [](const BoundCoord& coord) { return coord.wrap.has_value(); });
}

/// A sum of products reads each element several times.
bool sums_many_products(const BoundStage& stage) {
  std::int64_t terms = 1;
  for (int loop : stage.reduced) terms *= stage.iters[static_cast<std::size_t>(loop)].extent;
  const auto* last = std::get_if<Apply>(&stage.nodes.back());
  return stage.reduce == Reduce::sum && last != nullptr && last->fn == Fn::mul && terms >= 4;
}

}  // namespace

BoundGraph inline_copies(const BoundGraph& graph, WrappedReads wrapped) {
  BoundGraph result = graph;
  std::map<int, std::size_t> copies;  // tensor -> its copying stage
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    BoundStage& stage = result.stages[i];
    for (BoundNode& node : stage.nodes) {
      auto* read = std::get_if<BoundRead>(&node);
      if (read == nullptr || !copies.contains(read->tensor)) continue;
      const BoundNode before = node;
      auto source = through(result, result.stages[copies.at(read->tensor)], stage, *read);
      const bool may =
          wrapped == WrappedReads::of_products_too || !(source && wraps(*source) && sums_many_products(stage));
      if (source && may) *read = *std::move(source);
      if (!keeps_reductions(stage)) node = before;
    }
    if (is_copy(stage) && stage.out != result.output) copies[stage.out] = i;
  }
  drop_unread(result);
  return result;
}

}  // namespace kasimir
