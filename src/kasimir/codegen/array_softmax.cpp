// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/array_builder.h"

#include <algorithm>

namespace kasimir {
namespace {

/// The iterators of a read that takes every axis as it is.
std::optional<std::vector<int>> plain_iters(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read) {
  const auto& axes = graph.tensors[static_cast<std::size_t>(read.tensor)].axes;
  std::vector<int> iters;
  for (std::size_t a = 0; a < read.at.size(); ++a) {
    const BoundCoord& coord = read.at[a];
    if (coord.terms.size() != 1 || coord.terms[0].second != 1 || coord.offset != 0 || coord.wrap) return std::nullopt;
    const int iter = coord.terms[0].first;
    if (stage.iters[static_cast<std::size_t>(iter)].extent != axes[a].extent || std::ranges::count(iters, iter) > 0)
      return std::nullopt;
    iters.push_back(iter);
  }
  return iters;
}

std::vector<int> left_of(const BoundStage& stage) {
  std::vector<int> iters;
  for (const LeftAxis& axis : stage.left) iters.insert(iters.end(), axis.digits.begin(), axis.digits.end());
  return iters;
}

std::vector<int> without(const std::vector<int>& iters, const ArrayShape& places) {
  std::vector<int> rest;
  for (std::size_t i = 0; i < iters.size(); ++i)
    if (std::ranges::count(places, static_cast<std::int64_t>(i)) == 0) rest.push_back(iters[i]);
  return rest;
}

class SoftmaxSearch {
 public:
  explicit SoftmaxSearch(const BoundGraph& graph) : graph_(graph) {}

  /// The softmax that ends in the stage at `last`.
  [[nodiscard]] std::optional<SoftmaxStages> ending_at(std::size_t last) const {
    const BoundStage& quotient = graph_.stages[last];
    const auto division = pair_of_reads(quotient, static_cast<int>(quotient.nodes.size()) - 1, Fn::div);
    if (!division || !is_plain(quotient)) return std::nullopt;
    const auto total = only_reader_of(division->second->tensor, {last});
    const auto power = only_reader_of(division->first->tensor, total ? std::vector{*total, last} : std::vector{last});
    if (!total || !power) return std::nullopt;
    const BoundStage& exponential = graph_.stages[*power];
    const auto* root = std::get_if<Apply>(&exponential.nodes.back());
    if (root == nullptr || root->fn != Fn::exp || !is_plain(exponential)) return std::nullopt;
    const auto difference = pair_of_reads(exponential, root->a, Fn::sub);
    if (!difference) return std::nullopt;
    const auto largest = only_reader_of(difference->second->tensor, {*power});
    if (!largest || !graph_.stages[*largest].stabiliser) return std::nullopt;

    const int source = difference->first->tensor;
    const auto over = reduced_places(graph_.stages[*largest], Reduce::max, source);
    if (!over || over != reduced_places(graph_.stages[*total], Reduce::sum, division->first->tensor))
      return std::nullopt;
    if (!reads_in_place(exponential, *difference, *over) || !reads_in_place(quotient, *division, *over))
      return std::nullopt;
    if (over->back() - over->front() + 1 != static_cast<std::int64_t>(over->size())) return std::nullopt;
    return SoftmaxStages{{*largest, *power, *total}, source, over->front(), over->back()};
  }

 private:
  using Reads = std::pair<const BoundRead*, const BoundRead*>;

  static bool is_plain(const BoundStage& stage) {
    const bool digits = std::ranges::all_of(stage.left, [](const LeftAxis& axis) { return axis.digits.size() == 1; });
    return stage.reduce == Reduce::none && stage.factor == Rational(1) && digits;
  }

  static std::optional<Reads> pair_of_reads(const BoundStage& stage, int node, Fn fn) {
    const auto* made = std::get_if<Apply>(&stage.nodes[static_cast<std::size_t>(node)]);
    if (made == nullptr || made->fn != fn) return std::nullopt;
    const auto* a = std::get_if<BoundRead>(&stage.nodes[static_cast<std::size_t>(made->a)]);
    const auto* b = std::get_if<BoundRead>(&stage.nodes[static_cast<std::size_t>(made->b)]);
    if (a == nullptr || b == nullptr) return std::nullopt;
    return Reads{a, b};
  }

  /// The stage that defines a tensor, if just these stages read it.
  [[nodiscard]] std::optional<std::size_t> only_reader_of(int tensor, const std::vector<std::size_t>& readers) const {
    std::optional<std::size_t> defined;
    if (tensor == graph_.output) return std::nullopt;
    for (std::size_t i = 0; i < graph_.stages.size(); ++i) {
      if (graph_.stages[i].out == tensor) defined = i;
      const bool reads = std::ranges::any_of(graph_.stages[i].nodes, [&](const BoundNode& node) {
        const auto* read = std::get_if<BoundRead>(&node);
        return read != nullptr && read->tensor == tensor;
      });
      if (reads != (std::ranges::count(readers, i) > 0)) return std::nullopt;
    }
    return defined;
  }

  /// Which axes of `source` the stage, which does nothing else, reduces.
  [[nodiscard]] std::optional<ArrayShape> reduced_places(const BoundStage& stage, Reduce reduce, int source) const {
    const auto* read = std::get_if<BoundRead>(&stage.nodes.back());
    if (stage.reduce != reduce || stage.factor != Rational(1) || read == nullptr || read->tensor != source)
      return std::nullopt;
    const auto iters = plain_iters(graph_, stage, *read);
    if (!iters) return std::nullopt;
    ArrayShape places;
    for (std::size_t i = 0; i < iters->size(); ++i)
      if (std::ranges::count(stage.reduced, (*iters)[i]) > 0) places.push_back(static_cast<std::int64_t>(i));
    if (places.size() != stage.reduced.size() || left_of(stage) != without(*iters, places)) return std::nullopt;
    return places;
  }

  /// The first read is at the result's place, the second too, but for the reduced axes.
  [[nodiscard]] bool reads_in_place(const BoundStage& stage, const Reads& reads, const ArrayShape& over) const {
    const auto left = left_of(stage);
    return plain_iters(graph_, stage, *reads.first) == left &&
           plain_iters(graph_, stage, *reads.second) == without(left, over);
  }

  const BoundGraph& graph_;
};

}  // namespace

std::optional<SoftmaxStages> softmax_ending_at(const BoundGraph& graph, std::size_t last) {
  return SoftmaxSearch(graph).ending_at(last);
}

}  // namespace kasimir
