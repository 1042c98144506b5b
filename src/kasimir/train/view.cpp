// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/view.h"

#include <algorithm>
#include <ranges>

namespace kasimir {
namespace {

std::int64_t extent_of(const BoundStage& stage, int iter) { return stage.iters[static_cast<std::size_t>(iter)].extent; }

/// Largest minus smallest coordinate; all coefficients are positive.
std::int64_t span(const BoundStage& stage, const BoundCoord& coord, std::size_t from = 0) {
  std::int64_t sum = 0;
  for (std::size_t i = from; i < coord.terms.size(); ++i)
    sum += coord.terms[i].second * (extent_of(stage, coord.terms[i].first) - 1);
  return sum;
}

/// The iterator that alone walks an axis of extent 1, as the batch does at batch size 1; -1 for any other axis.
int lone_iter(const BoundStage& stage, const BoundCoord& coord, std::int64_t extent) {
  const bool alone = extent == 1 && coord.terms.size() == 1 && coord.offset == 0 && !coord.wrap;
  return alone && extent_of(stage, coord.terms[0].first) == 1 ? coord.terms[0].first : -1;
}

}  // namespace

BoundCoord simplified(const BoundStage& stage, const BoundCoord& coord) {
  BoundCoord simple{{}, coord.offset, coord.wrap};
  for (const auto& [iter, factor] : coord.terms) {
    if (extent_of(stage, iter) == 1) continue;
    const auto same = std::ranges::find(simple.terms, iter, &std::pair<int, std::int64_t>::first);
    if (same == simple.terms.end()) {
      simple.terms.emplace_back(iter, factor);
    } else {
      same->second += factor;
    }
  }
  std::erase_if(simple.terms, [](const auto& term) { return term.second == 0; });
  std::ranges::stable_sort(simple.terms, [&](const auto& a, const auto& b) {
    if (std::abs(a.second) != std::abs(b.second)) return std::abs(a.second) > std::abs(b.second);
    return extent_of(stage, a.first) > extent_of(stage, b.first);
  });
  return simple;
}

bool is_mixed_radix(const BoundStage& stage, const BoundCoord& coord, std::int64_t unit) {
  std::int64_t weight = unit;
  for (const auto& [iter, factor] : std::views::reverse(coord.terms)) {
    if (factor != weight) return false;
    weight *= extent_of(stage, iter);
  }
  return true;
}

ReadView::ReadView(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read) {
  const BoundTensor& tensor = graph.tensors[static_cast<std::size_t>(read.tensor)];
  std::vector<BoundCoord> coords;
  std::vector<std::int64_t> extents;
  std::vector<std::vector<int>> backwards(read.at.size());  // by axis: iterators that run against it
  for (std::size_t a = 0; a < read.at.size(); ++a) {
    BoundCoord coord = unwrapped(simplified(stage, read.at[a]), static_cast<std::int64_t>(a));
    for (auto& [iter, factor] : coord.terms) {
      if (factor > 0) continue;
      coord.offset += factor * (extent_of(stage, iter) - 1);
      factor = -factor;
      backwards[a].push_back(iter);
    }
    coords.push_back(std::move(coord));
    extents.push_back(tensor.axes[a].extent);
  }
  fit(stage, coords, extents);
  std::vector<std::vector<int>> made(coords.size());
  for (std::size_t a = coords.size(); a-- > 0;) {
    // A dimension that is dropped and made anew loses its stride, and with it the memory format of the whole tensor.
    const int lone = lone_iter(stage, read.at[a], extents[a]);
    made[a] = lone >= 0 ? std::vector<int>{lone} : cut(stage, coords[a], static_cast<std::int64_t>(a));
  }
  for (std::size_t a = 0; a < coords.size(); ++a) {
    for (int iter : made[a]) {
      if (std::ranges::count(backwards[a], iter) > 0)
        moves_.emplace_back(Flip{static_cast<std::int64_t>(iters_.size())});
      iters_.push_back(iter);
    }
  }
  meet_diagonals();
}

/// A wrap is a rotation of the axis; then the coordinate is plain.
BoundCoord ReadView::unwrapped(const BoundCoord& coord, std::int64_t dim) {
  if (!coord.wrap) return coord;
  BoundCoord plain{coord.terms, 0, std::nullopt};
  if (coord.terms.size() == 1 && coord.terms[0].second < 0) plain.offset = *coord.wrap - 1;
  const std::int64_t by = (coord.offset - plain.offset) % *coord.wrap;
  if (by != 0) moves_.emplace_back(Roll{dim, -by});
  return plain;
}

/// Pads and crops each axis to exactly the coordinates that are read, so that offsets become 0.
void ReadView::fit(const BoundStage& stage, std::vector<BoundCoord>& coords, const std::vector<std::int64_t>& extents) {
  std::vector<std::int64_t> pads(2 * coords.size(), 0);
  bool padded = false;
  for (std::size_t a = 0; a < coords.size(); ++a) {
    const std::int64_t first = coords[a].offset;
    const std::int64_t end = first + span(stage, coords[a]) + 1;
    const std::int64_t start = std::clamp<std::int64_t>(first, 0, extents[a]);
    const std::int64_t stop = std::clamp<std::int64_t>(end, start, extents[a]);
    if (start > 0 || stop < extents[a]) moves_.emplace_back(Narrow{static_cast<std::int64_t>(a), start, stop - start});
    // constant_pad_nd counts axes from the last one.
    const std::size_t place = 2 * (coords.size() - 1 - a);
    pads[place] = start == stop ? 0 : start - first;
    pads[place + 1] = end - first - (stop - start) - pads[place];
    padded = padded || pads[place] != 0 || pads[place + 1] != 0;
    coords[a].offset = 0;
  }
  if (!padded) return;
  while (pads.size() > 2 && pads[pads.size() - 1] == 0 && pads[pads.size() - 2] == 0) pads.resize(pads.size() - 2);
  moves_.emplace_back(Pad{std::move(pads)});
}

/// Cuts an axis of span + 1 elements into a dimension per iterator, the first in place of `dim`.
std::vector<int> ReadView::cut(const BoundStage& stage, BoundCoord coord, std::int64_t dim) {
  if (coord.terms.empty()) {
    moves_.emplace_back(Squeeze{dim});
    return {};
  }
  const std::int64_t unit = coord.terms.back().second;
  if (is_mixed_radix(stage, coord, unit)) {
    if (unit > 1) moves_.emplace_back(Every{dim, unit});
    std::vector<int> made;
    std::vector<std::int64_t> extents;
    for (const auto& term : coord.terms) {
      made.push_back(term.first);
      extents.push_back(extent_of(stage, term.first));
    }
    if (made.size() > 1) moves_.emplace_back(Unflatten{dim, std::move(extents)});
    return made;
  }
  moves_.emplace_back(Windows{dim, span(stage, coord, 1) + 1, coord.terms[0].second});
  std::vector<int> made{coord.terms[0].first};
  coord.terms.erase(coord.terms.begin());
  const std::vector<int> inner = cut(stage, std::move(coord), dim + 1);
  made.insert(made.end(), inner.begin(), inner.end());
  return made;
}

void ReadView::meet_diagonals() {
  for (std::size_t i = 0; i < iters_.size(); ++i) {
    for (std::size_t j = i + 1; j < iters_.size();) {
      if (iters_[j] != iters_[i]) {
        ++j;
        continue;
      }
      moves_.emplace_back(Diagonal{static_cast<std::int64_t>(i), static_cast<std::int64_t>(j)});
      iters_.erase(iters_.begin() + static_cast<std::ptrdiff_t>(j));
    }
  }
}

at::Tensor ReadView::make(const Move& move, const at::Tensor& t) {
  struct Visitor {
    const at::Tensor& x;
    at::Tensor operator()(const Roll& m) const { return at::roll(x, m.by, m.dim); }
    at::Tensor operator()(const Flip& m) const { return at::flip(x, m.dim); }
    at::Tensor operator()(const Narrow& m) const { return x.narrow(m.dim, m.start, m.length); }
    at::Tensor operator()(const Pad& m) const { return at::constant_pad_nd(x, m.amounts); }
    at::Tensor operator()(const Every& m) const { return x.slice(m.dim, std::nullopt, std::nullopt, m.step); }
    at::Tensor operator()(const Unflatten& m) const { return x.unflatten(m.dim, m.extents); }
    at::Tensor operator()(const Windows& m) const { return x.unfold(m.dim, m.size, m.step).movedim(-1, m.dim + 1); }
    at::Tensor operator()(const Squeeze& m) const { return x.squeeze(m.dim); }
    at::Tensor operator()(const Diagonal& m) const { return x.diagonal(0, m.first, m.second).movedim(-1, m.first); }
  };
  return std::visit(Visitor{t}, move);
}

at::Tensor ReadView::apply(const at::Tensor& tensor) const {
  at::Tensor view = tensor;
  for (const Move& move : moves_) view = make(move, view);
  return view;
}

at::Tensor aligned(const at::Tensor& tensor, const std::vector<int>& iters, const std::vector<int>& order) {
  std::vector<std::int64_t> permutation;
  std::vector<std::size_t> absent;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto found = std::ranges::find(iters, order[i]);
    if (found == iters.end()) {
      absent.push_back(i);
    } else {
      permutation.push_back(found - iters.begin());
    }
  }
  KASIMIR_CHECK(permutation.size() == iters.size(), "{} of {} dimensions have a place", permutation.size(),
                iters.size());
  at::Tensor result = std::ranges::is_sorted(permutation) ? tensor : tensor.permute(permutation);
  for (std::size_t i : absent) result = result.unsqueeze(static_cast<std::int64_t>(i));
  return result;
}

std::vector<int> left_iters(const BoundStage& stage) {
  std::vector<int> order;
  for (const LeftAxis& axis : stage.left) order.insert(order.end(), axis.digits.begin(), axis.digits.end());
  return order;
}

at::Tensor to_axes(const BoundStage& stage, const at::Tensor& tensor, const std::vector<int>& order) {
  const std::vector<int> left = left_iters(stage);
  at::Tensor full = aligned(tensor, order, left);
  std::vector<std::int64_t> extents;
  for (int iter : left) extents.push_back(extent_of(stage, iter));
  if (full.sizes() != at::IntArrayRef(extents)) full = full.expand(extents);
  const bool plain = std::ranges::all_of(stage.left, [](const LeftAxis& axis) { return axis.digits.size() == 1; });
  if (plain) return full;
  std::vector<std::int64_t> shape;
  for (const LeftAxis& axis : stage.left) {
    std::int64_t product = 1;
    for (int digit : axis.digits) product *= extent_of(stage, digit);
    shape.push_back(product);
  }
  return full.reshape(shape);
}

}  // namespace kasimir
