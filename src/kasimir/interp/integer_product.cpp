// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/integer_product.h"

#include "kasimir/base/error.h"
#include "kasimir/interp/interpreter.h"

#include <algorithm>

namespace kasimir {
namespace {

/// The least and the largest value of a coordinate.
std::pair<std::int64_t, std::int64_t> bounds(const BoundStage& stage, const BoundCoord& coord) {
  KASIMIR_CHECK(!coord.wrap, "a weighted sum whose coordinate wraps");
  std::int64_t low = coord.offset;
  std::int64_t high = coord.offset;
  for (const auto& [iter, factor] : coord.terms) {
    const std::int64_t reach = factor * (stage.iters[static_cast<std::size_t>(iter)].extent - 1);
    (reach < 0 ? low : high) += reach;
  }
  return {low, high};
}

}  // namespace

IntegerProduct::IntegerProduct(const BoundGraph& graph, const BoundStage& stage, const BoundRead& activation,
                               const BoundRead& weight, std::vector<std::int32_t> weight_codes, std::int64_t largest)
    : weights_(std::move(weight_codes)) {
  std::vector<Steps> steps(stage.iters.size());
  for (std::size_t i = 0; i < steps.size(); ++i) steps[i].extent = stage.iters[i].extent;
  place_activation(graph, stage, activation, steps);
  place_weight(graph, stage, weight, steps);
  order_loops(stage, std::move(steps));
  std::int64_t largest_weight = 0;
  for (const std::int32_t code : weights_) largest_weight = std::max<std::int64_t>(largest_weight, std::abs(code));
  const auto count = static_cast<std::int64_t>(summed_.size());
  narrow_ = largest * largest_weight <= ((std::int64_t{1} << 31) - 1) / count;
}

void IntegerProduct::place_activation(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                                      std::vector<Steps>& steps) {
  const BoundTensor& tensor = graph.tensors[static_cast<std::size_t>(read.tensor)];
  axes_.resize(read.at.size());
  std::int64_t stride = 1;
  for (std::size_t a = axes_.size(); a-- > 0;) {
    const auto [low, high] = bounds(stage, read.at[a]);
    axes_[a] = {tensor.axes[a].extent, low, high - low + 1};
    for (const auto& [iter, factor] : read.at[a].terms)
      steps[static_cast<std::size_t>(iter)].activation += factor * stride;
    // The least coordinate is at 0 of the padded axis; where a factor is negative, iterators at 0 start above it.
    activation_start_ += (read.at[a].offset - low) * stride;
    stride *= axes_[a].padded;
  }
}

void IntegerProduct::place_weight(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                                  std::vector<Steps>& steps) {
  const BoundTensor& tensor = graph.tensors[static_cast<std::size_t>(read.tensor)];
  KASIMIR_CHECK(static_cast<std::int64_t>(weights_.size()) == elements(tensor), "{} codes for {}", weights_.size(),
                tensor.name);
  std::int64_t stride = 1;
  for (std::size_t a = read.at.size(); a-- > 0;) {
    const auto [low, high] = bounds(stage, read.at[a]);
    KASIMIR_CHECK(low >= 0 && high < tensor.axes[a].extent, "weight {} is read outside", tensor.name);
    for (const auto& [iter, factor] : read.at[a].terms) steps[static_cast<std::size_t>(iter)].weight += factor * stride;
    weight_start_ += read.at[a].offset * stride;
    stride *= tensor.axes[a].extent;
  }
}

void IntegerProduct::order_loops(const BoundStage& stage, std::vector<Steps> steps) {
  std::vector<int> order = detail::result_order(stage);
  for (std::size_t i = order.size(); i-- > 0;) {
    Steps& of = steps[static_cast<std::size_t>(order[i])];
    of.result = elements_;
    elements_ *= of.extent;
  }
  // The innermost loop is the longest along which one weight meets neighbours in memory.
  const auto gain = [&](int iter) {
    const Steps& of = steps[static_cast<std::size_t>(iter)];
    return of.weight != 0 ? 0 : of.activation == 1 ? 4 * of.extent : of.extent;
  };
  const auto best = std::ranges::max_element(order, {}, gain);
  if (best != order.end() && gain(*best) > 0) {
    inner_ = steps[static_cast<std::size_t>(*best)];
    order.erase(best);
  }
  for (const int iter : order) outer_.push_back(steps[static_cast<std::size_t>(iter)]);
  std::vector<std::int64_t> at(stage.iters.size(), 0);
  do {
    Offsets here{0, 0};
    for (const int iter : stage.reduced) {
      const auto i = static_cast<std::size_t>(iter);
      here.activation += at[i] * steps[i].activation;
      here.weight += at[i] * steps[i].weight;
    }
    summed_.push_back(here);
  } while (detail::advance(stage, stage.reduced, at));
}

std::vector<std::int32_t> IntegerProduct::pad(std::span<const std::int32_t> codes) const {
  std::int64_t size = 1;
  for (const Axis& axis : axes_) size *= axis.padded;
  std::vector<std::int32_t> padded(static_cast<std::size_t>(size), 0);
  const Axis& last = axes_.back();
  const std::int64_t from = std::max<std::int64_t>(0, last.first);
  const std::int64_t to = std::min(last.extent, last.first + last.padded);
  if (from >= to) return padded;
  // Rows of the last axis, by their place in the padded tensor.
  for (std::int64_t row = 0; row < size / last.padded; ++row) {
    std::int64_t rest = row;
    std::int64_t source = 0;
    std::int64_t stride = last.extent;
    bool inside = true;
    for (std::size_t a = axes_.size() - 1; a-- > 0;) {
      const std::int64_t coordinate = rest % axes_[a].padded + axes_[a].first;
      rest /= axes_[a].padded;
      inside = inside && coordinate >= 0 && coordinate < axes_[a].extent;
      source += coordinate * stride;
      stride *= axes_[a].extent;
    }
    if (inside)
      std::copy(codes.begin() + source + from, codes.begin() + source + to,
                padded.begin() + row * last.padded + from - last.first);
  }
  return padded;
}

template <typename Sum>
void IntegerProduct::run_row(const std::int32_t* activation, const std::int32_t* weight, Sum* sums) const {
  for (const Offsets& at : summed_) {
    const Sum by = weight[at.weight];
    if (by == 0) continue;
    const std::int32_t* from = activation + at.activation;
    if (inner_.activation == 1) {
      for (std::int64_t i = 0; i < inner_.extent; ++i) sums[i] += by * from[i];
    } else {
      for (std::int64_t i = 0; i < inner_.extent; ++i) sums[i] += by * from[i * inner_.activation];
    }
  }
}

template <typename Sum>
void IntegerProduct::run(const std::vector<std::int32_t>& padded, std::vector<std::int64_t>& result) const {
  std::vector<Sum> sums(static_cast<std::size_t>(inner_.extent));
  std::vector<std::int64_t> at(outer_.size(), 0);
  for (;;) {
    std::int64_t activation = activation_start_;
    std::int64_t weight = weight_start_;
    std::int64_t place = 0;
    for (std::size_t i = 0; i < outer_.size(); ++i) {
      activation += at[i] * outer_[i].activation;
      weight += at[i] * outer_[i].weight;
      place += at[i] * outer_[i].result;
    }
    std::ranges::fill(sums, 0);
    run_row(padded.data() + activation, weights_.data() + weight, sums.data());
    for (std::int64_t i = 0; i < inner_.extent; ++i)
      result[static_cast<std::size_t>(place + i * inner_.result)] = sums[static_cast<std::size_t>(i)];
    std::size_t loop = outer_.size();
    while (loop > 0 && ++at[loop - 1] == outer_[loop - 1].extent) at[--loop] = 0;
    if (loop == 0) return;
  }
}

std::vector<std::int64_t> IntegerProduct::sums(std::span<const std::int32_t> codes) const {
  std::vector<std::int64_t> result(static_cast<std::size_t>(elements_));
  const std::vector<std::int32_t> padded = pad(codes);
  if (narrow_) {
    run<std::int32_t>(padded, result);
  } else {
    run<std::int64_t>(padded, result);
  }
  return result;
}

std::vector<std::int32_t> slices_of_result(const BoundGraph& graph, const BoundStage& stage, const BoundRead& weight,
                                           int axes) {
  const BoundTensor& tensor = graph.tensors[static_cast<std::size_t>(weight.tensor)];
  const std::vector<int> order = detail::result_order(stage);
  std::vector<std::int64_t> at(stage.iters.size(), 0);
  std::vector<std::int32_t> slices;
  do {
    std::int64_t slice = 0;
    for (int a = 0; a < axes; ++a) {
      const BoundCoord& coord = weight.at[static_cast<std::size_t>(a)];
      std::int64_t place = coord.offset;
      for (const auto& [iter, factor] : coord.terms) place += factor * at[static_cast<std::size_t>(iter)];
      slice = slice * tensor.axes[static_cast<std::size_t>(a)].extent + place;
    }
    slices.push_back(static_cast<std::int32_t>(slice));
  } while (detail::advance(stage, order, at));
  return slices;
}

}  // namespace kasimir
