// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/substitute.h"

#include <algorithm>

namespace kasimir {
namespace {

using Terms = std::vector<std::pair<int, std::int64_t>>;

std::pair<std::int64_t, std::int64_t> range_of(const BoundStage& stage, const Terms& terms, std::int64_t offset) {
  std::pair<std::int64_t, std::int64_t> range{offset, offset};
  for (const auto& [iter, factor] : terms) {
    const std::int64_t far = factor * (stage.iters[static_cast<std::size_t>(iter)].extent - 1);
    (far < 0 ? range.first : range.second) += far;
  }
  return range;
}

/// Cuts the digits of one axis of the producer out of a coordinate that reads it: digit values as affine forms of the
/// reader's iterators. Fails where a carry could happen.
bool cut_digits(const BoundStage& producer, const LeftAxis& axis, const BoundStage& reader, const BoundCoord& coord,
                std::map<int, AffineForm>& digits) {
  if (coord.wrap) return false;
  AffineForm rest{coord.terms, coord.offset};
  std::int64_t total = 1;
  for (int digit : axis.digits) total *= producer.iters[static_cast<std::size_t>(digit)].extent;
  const auto whole = range_of(reader, rest.terms, rest.offset);
  if (whole.first < 0 || whole.second >= total) return false;
  for (int digit : axis.digits) {
    total /= producer.iters[static_cast<std::size_t>(digit)].extent;  // the weight of this digit
    AffineForm high;
    AffineForm low;
    for (const auto& [iter, factor] : rest.terms) {
      if (factor % total == 0) {
        high.terms.emplace_back(iter, factor / total);
      } else {
        low.terms.emplace_back(iter, factor);
      }
    }
    // The offset goes up as far as the low part then stays inside one step of this digit.
    const std::int64_t least = range_of(reader, low.terms, 0).first;
    const std::int64_t floor =
        (rest.offset + least) >= 0 ? (rest.offset + least) / total : -((-(rest.offset + least) + total - 1) / total);
    high.offset = floor;
    low.offset = rest.offset - floor * total;
    const auto inside = range_of(reader, low.terms, low.offset);
    if (inside.first < 0 || inside.second >= total) return false;
    digits[digit] = std::move(high);
    rest = std::move(low);
  }
  return true;
}

/// One coordinate of the producer's own read with its iterators replaced; nothing where a wrap does not stand alone.
bool compose(const BoundCoord& inner, const std::map<int, AffineForm>& digits, const BoundStage& reader,
             BoundCoord& result) {
  AffineForm sum;
  sum.offset = inner.offset;
  for (const auto& [iter, factor] : inner.terms) {
    const AffineForm& digit = digits.at(iter);
    for (const auto& [outer, coefficient] : digit.terms) {
      const auto same = std::ranges::find(sum.terms, outer, &std::pair<int, std::int64_t>::first);
      if (same != sum.terms.end()) {
        same->second += factor * coefficient;
      } else {
        sum.terms.emplace_back(outer, factor * coefficient);
      }
    }
    sum.offset += factor * digit.offset;
  }
  std::erase_if(sum.terms, [](const auto& term) { return term.second == 0; });
  if (inner.wrap) {
    const bool alone = sum.terms.size() == 1 && (sum.terms[0].second == 1 || sum.terms[0].second == -1) &&
                       reader.iters[static_cast<std::size_t>(sum.terms[0].first)].extent == *inner.wrap;
    if (!alone) return false;
  }
  result = {std::move(sum.terms), sum.offset, inner.wrap};
  return true;
}

}  // namespace

std::pair<std::int64_t, std::int64_t> range_of(const BoundStage& stage, const BoundCoord& coord) {
  return range_of(stage, coord.terms, coord.offset);
}

std::optional<std::map<int, AffineForm>> digits_at(const BoundStage& producer, const BoundStage& reader,
                                                   const BoundRead& read) {
  std::map<int, AffineForm> digits;
  for (std::size_t a = 0; a < producer.left.size(); ++a)
    if (!cut_digits(producer, producer.left[a], reader, read.at[a], digits)) return std::nullopt;
  return digits;
}

std::optional<BoundRead> compose(const BoundRead& inner, const std::map<int, AffineForm>& digits,
                                 const BoundStage& reader) {
  BoundRead composed{inner.tensor, std::vector<BoundCoord>(inner.at.size())};
  for (std::size_t a = 0; a < inner.at.size(); ++a)
    if (!compose(inner.at[a], digits, reader, composed.at[a])) return std::nullopt;
  return composed;
}

bool keeps_reductions(const BoundStage& stage) {
  std::vector<bool> seen(stage.iters.size(), false);
  for (const BoundNode& node : stage.nodes)
    if (const auto* read = std::get_if<BoundRead>(&node))
      for (const BoundCoord& coord : read->at)
        for (const auto& term : coord.terms) seen[static_cast<std::size_t>(term.first)] = true;
  return std::ranges::all_of(stage.reduced, [&](int r) { return seen[static_cast<std::size_t>(r)]; });
}

std::vector<int> count_reads(const BoundGraph& graph) {
  std::vector<int> reads(graph.tensors.size(), 0);
  for (const BoundStage& stage : graph.stages)
    for (const BoundNode& node : stage.nodes)
      if (const auto* read = std::get_if<BoundRead>(&node)) ++reads[static_cast<std::size_t>(read->tensor)];
  return reads;
}

void drop_unread(BoundGraph& graph) {
  std::vector<int> reads = count_reads(graph);
  // Backwards: what only fed a dropped stage is dropped too.
  for (std::size_t i = graph.stages.size(); i-- > 0;) {
    const BoundStage& stage = graph.stages[i];
    if (reads[static_cast<std::size_t>(stage.out)] > 0 || stage.out == graph.output) continue;
    for (const BoundNode& node : stage.nodes)
      if (const auto* read = std::get_if<BoundRead>(&node)) --reads[static_cast<std::size_t>(read->tensor)];
    graph.stages.erase(graph.stages.begin() + static_cast<std::ptrdiff_t>(i));
  }
}

}  // namespace kasimir
