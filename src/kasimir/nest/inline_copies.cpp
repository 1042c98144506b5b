// SPDX-License-Identifier: Apache-2.0
#include "kasimir/nest/inline_copies.h"

#include <algorithm>
#include <map>

namespace kasimir {
namespace {

using Terms = std::vector<std::pair<int, std::int64_t>>;

struct Affine {
  Terms terms;
  std::int64_t offset = 0;
};

std::pair<std::int64_t, std::int64_t> range_of(const BoundStage& stage, const Terms& terms, std::int64_t offset) {
  std::pair<std::int64_t, std::int64_t> range{offset, offset};
  for (const auto& [iter, factor] : terms) {
    const std::int64_t far = factor * (stage.iters[static_cast<std::size_t>(iter)].extent - 1);
    (far < 0 ? range.first : range.second) += far;
  }
  return range;
}

bool is_copy(const BoundStage& stage) {
  return stage.reduce == Reduce::none && stage.nodes.size() == 1 && std::holds_alternative<BoundRead>(stage.nodes[0]) &&
         stage.factor == Rational(1) && !stage.stat;
}

/// Cuts the digits of one axis of the copy out of a coordinate that reads it: digit values as affine forms of the
/// reader's iterators. Fails where a carry could happen.
bool cut_digits(const BoundStage& copy, const LeftAxis& axis, const BoundStage& reader, const BoundCoord& coord,
                std::map<int, Affine>& digits) {
  if (coord.wrap) return false;
  Affine rest{coord.terms, coord.offset};
  std::int64_t total = 1;
  for (int digit : axis.digits) total *= copy.iters[static_cast<std::size_t>(digit)].extent;
  const auto whole = range_of(reader, rest.terms, rest.offset);
  if (whole.first < 0 || whole.second >= total) return false;
  for (int digit : axis.digits) {
    total /= copy.iters[static_cast<std::size_t>(digit)].extent;  // the weight of this digit
    Affine high;
    Affine low;
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

/// The copy's own read with its iterators replaced; nothing where a wrap does not stand alone.
bool compose(const BoundCoord& inner, const std::map<int, Affine>& digits, const BoundStage& reader,
             BoundCoord& result) {
  Affine sum;
  sum.offset = inner.offset;
  for (const auto& [iter, factor] : inner.terms) {
    const Affine& digit = digits.at(iter);
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

/// Some iteration reads inside: a copy may be zero just where its reader looks.
bool touches(const BoundStage& reader, const BoundCoord& coord, std::int64_t extent) {
  const auto range = range_of(reader, coord.terms, coord.offset);
  return coord.wrap || (range.second >= 0 && range.first < extent);
}

bool substitute(const BoundGraph& graph, const BoundStage& copy, const BoundStage& reader, BoundRead& read) {
  std::map<int, Affine> digits;
  for (std::size_t a = 0; a < copy.left.size(); ++a)
    if (!cut_digits(copy, copy.left[a], reader, read.at[a], digits)) return false;
  const auto& inner = std::get<BoundRead>(copy.nodes[0]);
  const auto& axes = graph.tensors[static_cast<std::size_t>(inner.tensor)].axes;
  BoundRead composed{inner.tensor, std::vector<BoundCoord>(inner.at.size())};
  for (std::size_t a = 0; a < inner.at.size(); ++a)
    if (!compose(inner.at[a], digits, reader, composed.at[a]) || !touches(reader, composed.at[a], axes[a].extent))
      return false;
  read = std::move(composed);
  return true;
}

/// Every reduced iterator must still occur, or the sum would lose a factor.
bool keeps_reductions(const BoundStage& stage) {
  std::vector<bool> seen(stage.iters.size(), false);
  for (const BoundNode& node : stage.nodes)
    if (const auto* read = std::get_if<BoundRead>(&node))
      for (const BoundCoord& coord : read->at)
        for (const auto& term : coord.terms) seen[static_cast<std::size_t>(term.first)] = true;
  return std::ranges::all_of(stage.reduced, [&](int r) { return seen[static_cast<std::size_t>(r)]; });
}

}  // namespace

BoundGraph inline_copies(const BoundGraph& graph) {
  BoundGraph result = graph;
  std::map<int, std::size_t> copies;  // tensor -> its copying stage
  for (std::size_t i = 0; i < result.stages.size(); ++i) {
    BoundStage& stage = result.stages[i];
    for (BoundNode& node : stage.nodes) {
      auto* read = std::get_if<BoundRead>(&node);
      if (read == nullptr || !copies.contains(read->tensor)) continue;
      const BoundNode before = node;
      if (substitute(result, result.stages[copies.at(read->tensor)], stage, *read) && !keeps_reductions(stage))
        node = before;
    }
    if (is_copy(stage) && stage.out != result.output) copies[stage.out] = i;
  }
  // Going backwards, a copy that only fed dropped copies is dropped too.
  for (std::size_t i = result.stages.size(); i-- > 0;) {
    const bool needed = std::ranges::any_of(result.stages, [&](const BoundStage& stage) {
      return std::ranges::any_of(stage.nodes, [&](const BoundNode& node) {
        const auto* r = std::get_if<BoundRead>(&node);
        return r != nullptr && r->tensor == result.stages[i].out;
      });
    });
    if (!needed && result.stages[i].out != result.output)
      result.stages.erase(result.stages.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return result;
}

}  // namespace kasimir
