// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/code_sums.h"

#include "kasimir/base/error.h"
#include "kasimir/interp/interpreter.h"

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

std::set<int> iterators_of(const BoundRead& read) {
  std::set<int> found;
  for (const BoundCoord& coord : read.at)
    for (const auto& term : coord.terms) found.insert(term.first);
  return found;
}

/// The result's iterators by which operands are read at them.
struct Split {
  std::vector<int> both, activation, weight;
};

Split split_of(const std::vector<int>& order, const BoundRead& activation, const BoundRead& weight) {
  const std::set<int> of_activation = iterators_of(activation);
  const std::set<int> of_weight = iterators_of(weight);
  Split split;
  for (const int iter : order) {
    if (!of_weight.contains(iter)) {
      split.activation.push_back(iter);
    } else {
      (of_activation.contains(iter) ? split.both : split.weight).push_back(iter);
    }
  }
  return split;
}

/// What the walk over all points of some iterators sees, in their order.
template <typename Visit>
void each_point(const BoundStage& stage, const std::vector<int>& iters, std::vector<std::int64_t>& at, Visit visit) {
  do {
    visit();
  } while (detail::advance(stage, iters, at));
}

}  // namespace

CodeSums::CodeSums(const BoundGraph& graph, const BoundStage& stage, const BoundRead& activation,
                   const BoundRead& weight, std::span<const std::int32_t> weight_codes)
    : activation_elements_(
          static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(activation.tensor)]))),
      results_(static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(stage.out)]))) {
  const std::vector<int> order = detail::result_order(stage);
  const Split split = split_of(order, activation, weight);
  std::vector<std::int64_t> strides(stage.iters.size(), 0);
  std::int64_t stride = 1;
  for (std::size_t i = order.size(); i-- > 0;) {
    strides[static_cast<std::size_t>(order[i])] = stride;
    stride *= stage.iters[static_cast<std::size_t>(order[i])].extent;
  }
  std::vector<std::int64_t> at(stage.iters.size(), 0);
  const auto offset = [&](const std::vector<int>& iters) {
    std::int64_t sum = 0;
    for (const int iter : iters) sum += at[static_cast<std::size_t>(iter)] * strides[static_cast<std::size_t>(iter)];
    return sum;
  };
  each_point(stage, split.activation, at, [&] { positions_.push_back(offset(split.activation)); });
  each_point(stage, split.weight, at, [&] { channels_.push_back(offset(split.weight)); });
  const auto of_activation = detail::prepare(graph, activation);
  const auto of_weight = detail::prepare(graph, weight);
  each_point(stage, split.both, at, [&] {
    Group group;
    group.result = offset(split.both);
    each_point(stage, split.activation, at, [&] {
      each_point(stage, stage.reduced, at, [&] {
        const std::int64_t place = detail::position(of_activation, at);
        group.elements.push_back(
            static_cast<std::int32_t>(place < 0 ? static_cast<std::int64_t>(activation_elements_) : place));
      });
    });
    each_point(stage, stage.reduced, at, [&] {
      each_point(stage, split.weight, at, [&] {
        const std::int64_t place = detail::position(of_weight, at);
        KASIMIR_CHECK(place >= 0, "a weight of `{}` is read outside",
                      graph.tensors[static_cast<std::size_t>(stage.out)].name);
        group.weights.push_back(weight_codes[static_cast<std::size_t>(place)]);
      });
    });
    groups_.push_back(std::move(group));
  });
  terms_ = groups_.front().elements.size() / positions_.size();
}

std::vector<double> CodeSums::sums(std::span<const double> codes) const {
  KASIMIR_CHECK(codes.size() == activation_elements_, "{} codes of {}", codes.size(), activation_elements_);
  std::vector<double> padded(codes.begin(), codes.end());
  padded.push_back(0);
  const std::size_t channels = channels_.size();
  std::vector<double> result(results_);
  std::vector<double> row(channels);
  for (const Group& group : groups_) {
    for (std::size_t p = 0; p < positions_.size(); ++p) {
      std::ranges::fill(row, 0.0);
      for (std::size_t t = 0; t < terms_; ++t) {
        const double code = padded[static_cast<std::size_t>(group.elements[p * terms_ + t])];
        if (code == 0) continue;
        const double* weights = &group.weights[t * channels];
        for (std::size_t c = 0; c < channels; ++c) row[c] += code * weights[c];
      }
      for (std::size_t c = 0; c < channels; ++c)
        result[static_cast<std::size_t>(group.result + positions_[p] + channels_[c])] = row[c];
    }
  }
  return result;
}

}  // namespace kasimir
