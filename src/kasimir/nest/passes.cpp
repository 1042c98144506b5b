// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/passes.h"

#include "kasimir/nest/expression.h"
#include "kasimir/nest/inline_copies.h"
#include "kasimir/nest/substitute.h"

#include <algorithm>
#include <array>

namespace kasimir {
namespace {

/// The one read of an activation that the stage is a function of: all its activations are the same element, and its
/// weights have no coordinates.
const BoundRead* only_argument(const BoundStage& stage, const std::vector<bool>& weights) {
  const BoundRead* argument = nullptr;
  for (const BoundNode& node : stage.nodes) {
    const auto* read = std::get_if<BoundRead>(&node);
    if (read == nullptr) continue;
    if (weights[static_cast<std::size_t>(read->tensor)]) {
      if (std::ranges::any_of(read->at, [](const BoundCoord& coord) { return !coord.terms.empty(); })) return nullptr;
    } else if (argument != nullptr && !(*argument == *read)) {
      return nullptr;
    } else {
      argument = read;
    }
  }
  return argument;
}

bool always_inside(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read) {
  const auto& axes = graph.tensors[static_cast<std::size_t>(read.tensor)].axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const auto range = range_of(stage, read.at[a]);
    if (read.at[a].wrap ? *read.at[a].wrap > axes[a].extent : range.first < 0 || range.second >= axes[a].extent)
      return false;
  }
  return true;
}

bool lifts(const BoundGraph& graph, const BoundStage& stage, const BoundRead* argument,
           const std::vector<bool>& weights) {
  if (argument == nullptr || !is_pointwise(stage) || stage.nodes.size() < 2) return false;
  const BoundTensor& x = graph.tensors[static_cast<std::size_t>(argument->tensor)];
  return !reads_in_place(stage, *argument, x) && domain(stage) >= elements(x) &&
         (always_inside(graph, stage, *argument) || zero_at_zero(stage.nodes, weights));
}

/// The function on the whole tensor: the new stage, whose result takes the argument's place.
BoundStage lifted(const BoundTensor& x, const BoundStage& stage, int argument, int out) {
  BoundStage made;
  made.out = out;
  made.step = stage.step;
  BoundRead read{argument, {}};
  for (const auto& axis : x.axes) {
    const int iter = static_cast<int>(made.iters.size());
    made.iters.push_back({axis.kind, axis.extent});
    made.left.push_back({axis.kind, {iter}});
    read.at.push_back({{{iter, 1}}, 0, {}});
  }
  append(made.nodes, stage.nodes, static_cast<int>(stage.nodes.size()) - 1,
         [&](const BoundRead& of) { return of.tensor == argument ? read : of; });
  return made;
}

/// Where `reader` may take the producer's expression in place of its result.
std::optional<std::map<int, AffineForm>> place_of(const BoundGraph& graph, const BoundStage& producer,
                                                  const BoundStage& reader, const BoundRead& read,
                                                  const std::vector<bool>& weights) {
  if (auto digits = digits_at(producer, reader, read)) return digits;
  // Outside, a stage that works in place and keeps zero reads zero itself.
  if (!zero_at_zero(producer.nodes, weights)) return std::nullopt;
  std::map<int, AffineForm> digits;
  for (const BoundNode& node : producer.nodes) {
    const auto* of = std::get_if<BoundRead>(&node);
    if (of != nullptr && !weights[static_cast<std::size_t>(of->tensor)] &&
        !reads_in_place(producer, *of, graph.tensors[static_cast<std::size_t>(of->tensor)]))
      return std::nullopt;
  }
  for (std::size_t a = 0; a < producer.left.size(); ++a) {
    if (read.at[a].wrap || producer.left[a].digits.size() > 1) return std::nullopt;
    for (int digit : producer.left[a].digits) digits[digit] = {read.at[a].terms, read.at[a].offset};
  }
  return digits;
}

bool is_product_sum(const BoundStage& stage) {
  return stage.reduce == Reduce::sum && std::ranges::any_of(stage.nodes, [](const BoundNode& node) {
           const auto* apply = std::get_if<Apply>(&node);
           return apply != nullptr && apply->fn == Fn::mul;
         });
}

bool reads_one_activation(const BoundStage& stage, const std::vector<bool>& weights) {
  return std::ranges::count_if(stage.nodes, [&](const BoundNode& node) {
           const auto* read = std::get_if<BoundRead>(&node);
           return read != nullptr && !weights[static_cast<std::size_t>(read->tensor)];
         }) == 1;
}

/// `x * weights`, which a product of weights can take in.
bool is_scale(const BoundStage& stage, const std::vector<bool>& weights) {
  if (stage.nodes.size() != 3) return false;
  const auto* product = std::get_if<Apply>(&stage.nodes[2]);
  const auto* a = std::get_if<BoundRead>(&stage.nodes[0]);
  const auto* b = std::get_if<BoundRead>(&stage.nodes[1]);
  return product != nullptr && product->fn == Fn::mul && a != nullptr && b != nullptr &&
         weights[static_cast<std::size_t>(a->tensor)] != weights[static_cast<std::size_t>(b->tensor)];
}

bool pays(const BoundGraph& graph, const BoundStage& producer, const BoundStage& reader,
          const std::vector<bool>& weights) {
  if (!is_pointwise(producer) || weights[static_cast<std::size_t>(producer.out)]) return false;
  if (is_product_sum(reader)) return is_scale(producer, weights) && reads_one_activation(reader, weights);
  const bool once = domain(reader) <= elements(graph.tensors[static_cast<std::size_t>(producer.out)]);
  return once || (reader.reduce == Reduce::none && costly_functions(producer.nodes) == 0 && producer.nodes.size() <= 4);
}

/// Puts the producer's expression in the place of node `at`; false where that is not exact.
bool fuse(const BoundGraph& graph, const BoundStage& producer, BoundStage& reader, std::size_t at,
          const std::vector<bool>& weights) {
  const auto digits = place_of(graph, producer, reader, std::get<BoundRead>(reader.nodes[at]), weights);
  if (!digits) return false;
  BoundNodes nodes;
  std::vector<int> moved(reader.nodes.size());
  bool exact = true;
  for (std::size_t i = 0; i < reader.nodes.size(); ++i) {
    if (i == at) {
      moved[i] = append(nodes, producer.nodes, static_cast<int>(producer.nodes.size()) - 1, [&](const BoundRead& of) {
        auto composed = compose(of, *digits, reader);
        exact = exact && composed.has_value();
        return composed.value_or(of);
      });
      continue;
    }
    BoundNode node = reader.nodes[i];
    if (auto* apply = std::get_if<Apply>(&node)) {
      apply->a = moved[static_cast<std::size_t>(apply->a)];
      if (apply->b >= 0) apply->b = moved[static_cast<std::size_t>(apply->b)];
    }
    nodes.push_back(std::move(node));
    moved[i] = static_cast<int>(nodes.size()) - 1;
  }
  if (exact) reader.nodes = std::move(nodes);
  return exact;
}

/// Register blocks read from plain addresses, and accelerators have no others.
BoundGraph inline_plain_copies(const BoundGraph& graph) { return inline_copies(graph, WrappedReads::not_of_products); }

constexpr std::array table{
    Pass{"inline-copies", "views are read in place", inline_plain_copies},
    Pass{"lift-functions", "functions are computed before the views of their argument", lift_functions},
    Pass{"inline-lifted", "views that became plain are read in place", inline_plain_copies},
    Pass{"fuse-pointwise", "element-wise stages move into their only reader", fuse_pointwise},
    Pass{"fold-weights", "what depends on weights only is computed once", fold_weights},
};

}  // namespace

BoundGraph lift_functions(const BoundGraph& graph) {
  BoundGraph result = graph;
  result.stages.clear();
  const std::vector<bool> weights = weight_only(graph);
  for (BoundStage stage : graph.stages) {
    const BoundRead* argument = only_argument(stage, weights);
    if (lifts(graph, stage, argument, weights)) {
      const BoundTensor& x = graph.tensors[static_cast<std::size_t>(argument->tensor)];
      BoundTensor tensor;
      tensor.name = graph.tensors[static_cast<std::size_t>(stage.out)].name + std::string(lifted_suffix);
      tensor.axes = x.axes;
      result.tensors.push_back(std::move(tensor));
      const int out = static_cast<int>(result.tensors.size()) - 1;
      result.stages.push_back(lifted(x, stage, argument->tensor, out));
      BoundRead view = *argument;
      view.tensor = out;
      stage.nodes = {std::move(view)};
    }
    result.stages.push_back(std::move(stage));
  }
  return result;
}

BoundGraph fuse_pointwise(const BoundGraph& graph) {
  BoundGraph result = graph;
  const std::vector<bool> weights = weight_only(graph);
  const std::vector<int> reads = count_reads(graph);
  std::map<int, std::size_t> producers;
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    BoundStage& stage = result.stages[i];
    if (!weights[static_cast<std::size_t>(stage.out)]) {
      // A fused expression holds reads that may fuse again: they were final when their stage was handled.
      for (std::size_t n = 0; n < stage.nodes.size(); ++n) {
        const auto* read = std::get_if<BoundRead>(&stage.nodes[n]);
        if (read == nullptr || !producers.contains(read->tensor) || reads[static_cast<std::size_t>(read->tensor)] != 1)
          continue;
        const BoundStage& producer = result.stages[producers.at(read->tensor)];
        const BoundStage before = stage;
        if (pays(result, producer, stage, weights) && fuse(result, producer, stage, n, weights) &&
            !keeps_reductions(stage))
          stage = before;
      }
    }
    producers[stage.out] = i;
  }
  drop_unread(result);
  return result;
}

std::span<const Pass> passes() { return table; }

BoundGraph simplify(const BoundGraph& graph) {
  BoundGraph result = graph;
  for (const Pass& pass : table) result = pass.run(result);
  return result;
}

}  // namespace kasimir
