// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/codegen/array_builder.h"

#include <algorithm>
#include <cstdlib>
#include <ranges>

namespace kasimir {
namespace {

using Term = std::pair<int, std::int64_t>;

std::int64_t extent_of(const BoundStage& stage, int iter) { return stage.iters[static_cast<std::size_t>(iter)].extent; }

/// One axis of the tensor on its way to dimensions.
struct AxisRead {
  std::vector<Term> terms;     ///< with positive factors, tidy
  std::vector<int> backwards;  ///< iterators that run against the axis
  std::int64_t first = 0;      ///< the smallest coordinate
  int lone = -1;               ///< the iterator of extent 1 that alone walks an axis of extent 1

  [[nodiscard]] std::int64_t span(const BoundStage& stage, std::size_t from = 0) const {
    std::int64_t sum = 0;
    for (std::size_t i = from; i < terms.size(); ++i) sum += terms[i].second * (extent_of(stage, terms[i].first) - 1);
    return sum;
  }
  /// The digits of a mixed radix whose last has the weight `unit`.
  [[nodiscard]] bool is_mixed_radix(const BoundStage& stage, std::size_t from, std::int64_t unit) const {
    std::int64_t weight = unit;
    for (std::size_t i = terms.size(); i-- > from;) {
      if (terms[i].second != weight) return false;
      weight *= extent_of(stage, terms[i].first);
    }
    return true;
  }
};

class ViewPlan {
 public:
  ViewPlan(ArrayBuilder& build, const BoundStage& stage, int source) : build_(build), stage_(stage), value_(source) {}

  ArrayView run(const BoundRead& read) {
    for (std::size_t a = 0; a < read.at.size(); ++a) axes_.push_back(begin(read.at[a], static_cast<std::int64_t>(a)));
    fit();
    std::vector<std::vector<int>> made(axes_.size());
    for (std::size_t a = axes_.size(); a-- > 0;)
      made[a] = axes_[a].lone >= 0 ? std::vector<int>{axes_[a].lone} : cut(axes_[a], 0, static_cast<std::int64_t>(a));
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      for (int iter : made[a]) {
        if (std::ranges::count(axes_[a].backwards, iter) > 0)
          value_ = build_.flip(value_, static_cast<std::int64_t>(iters_.size()));
        iters_.push_back(iter);
      }
    }
    meet_diagonals();
    return {value_, iters_};
  }

 private:
  AxisRead begin(const BoundCoord& written, std::int64_t dim) {
    BoundCoord coord = tidy(stage_, written);
    if (coord.wrap) {
      // A wrapped coordinate is one iterator as long as the axis: a rotation, then plain.
      const bool reversed = !coord.terms.empty() && coord.terms[0].second < 0;
      KASIMIR_CHECK(coord.terms.size() <= 1, "{} iterators are wrapped", coord.terms.size());
      const std::int64_t plain = reversed ? *coord.wrap - 1 : 0;
      value_ = build_.roll(value_, dim, plain - coord.offset);
      coord.offset = plain;
    }
    AxisRead axis{std::move(coord.terms), {}, coord.offset};
    for (auto& [iter, factor] : axis.terms) {
      if (factor > 0) continue;
      axis.first += factor * (extent_of(stage_, iter) - 1);
      factor = -factor;
      axis.backwards.push_back(iter);
    }
    const bool alone = build_.extent(value_, dim) == 1 && written.terms.size() == 1 && written.offset == 0;
    if (alone && extent_of(stage_, written.terms[0].first) == 1) axis.lone = written.terms[0].first;
    return axis;
  }

  /// Cuts off and pads each axis to the coordinates that are read, so that the smallest one is 0.
  void fit() {
    ArrayShape before(axes_.size(), 0);
    ArrayShape after(axes_.size(), 0);
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      const auto dim = static_cast<std::int64_t>(a);
      const std::int64_t extent = build_.extent(value_, dim);
      if (extent == any_batch) continue;
      const std::int64_t end = axes_[a].first + axes_[a].span(stage_) + 1;
      const std::int64_t start = std::clamp<std::int64_t>(axes_[a].first, 0, extent);
      const std::int64_t stop = std::clamp<std::int64_t>(end, start, extent);
      before[a] = std::min(start, end) - std::min(axes_[a].first, start);
      after[a] = end - axes_[a].first - (stop - start) - before[a];
      const bool inside = before[a] == 0 && after[a] == 0;
      value_ = build_.slice(value_, dim, start, stop, inside ? take_unit(axes_[a]) : 1);
    }
    value_ = build_.pad(value_, before, after);
  }

  /// The common step of digits, which is taken out of them.
  [[nodiscard]] std::int64_t take_unit(AxisRead& axis) const {
    if (axis.terms.empty() || !axis.is_mixed_radix(stage_, 0, axis.terms.back().second)) return 1;
    const std::int64_t unit = axis.terms.back().second;
    for (Term& term : axis.terms) term.second /= unit;
    return unit;
  }

  /// Cuts dimension `dim`, as long as the terms from `from` on need, into one per iterator.
  std::vector<int> cut(const AxisRead& axis, std::size_t from, std::int64_t dim) {
    if (from == axis.terms.size()) {
      value_ = build_.squeeze(value_, dim);
      return {};
    }
    if (build_.extent(value_, dim) == any_batch) return {axis.terms[from].first};
    const std::int64_t unit = axis.terms.back().second;
    if (!axis.is_mixed_radix(stage_, from, unit)) {
      value_ = build_.windows(value_, dim, axis.span(stage_, from + 1) + 1, axis.terms[from].second);
      std::vector<int> made{axis.terms[from].first};
      std::ranges::copy(cut(axis, from + 1, dim + 1), std::back_inserter(made));
      return made;
    }
    value_ = build_.slice(value_, dim, 0, build_.extent(value_, dim), unit);
    std::vector<int> made;
    ArrayShape extents;
    for (const auto& [iter, factor] : axis.terms | std::views::drop(static_cast<std::ptrdiff_t>(from))) {
      made.push_back(iter);
      extents.push_back(extent_of(stage_, iter));
    }
    value_ = build_.unflatten(value_, dim, extents);
    return made;
  }

  /// An iterator that walks two dimensions reads their diagonal: every (n + 1)-th element of both as one.
  void meet_diagonals() {
    for (std::size_t i = 0; i < iters_.size(); ++i) {
      for (std::size_t j = i + 1; j < iters_.size();) {
        if (iters_[j] != iters_[i]) {
          ++j;
          continue;
        }
        ArrayShape order;
        for (std::size_t d = 0; d < iters_.size(); ++d) {
          if (d != j) order.push_back(static_cast<std::int64_t>(d));
          if (d == i) order.push_back(static_cast<std::int64_t>(j));
        }
        const auto dim = static_cast<std::int64_t>(i);
        const std::int64_t n = extent_of(stage_, iters_[i]);
        value_ = build_.flatten(build_.permute(value_, order), dim, dim + 1);
        value_ = build_.slice(value_, dim, 0, n * n, n + 1);
        iters_.erase(iters_.begin() + static_cast<std::ptrdiff_t>(j));
      }
    }
  }

  ArrayBuilder& build_;
  const BoundStage& stage_;
  int value_;
  std::vector<AxisRead> axes_;
  std::vector<int> iters_;
};

}  // namespace

BoundCoord tidy(const BoundStage& stage, const BoundCoord& coord) {
  BoundCoord result{{}, coord.offset, coord.wrap};
  for (const auto& [iter, factor] : coord.terms) {
    if (extent_of(stage, iter) == 1) continue;
    const auto known = std::ranges::find(result.terms, iter, &Term::first);
    if (known == result.terms.end()) {
      result.terms.emplace_back(iter, factor);
    } else {
      known->second += factor;
    }
  }
  std::erase_if(result.terms, [](const Term& term) { return term.second == 0; });
  std::ranges::stable_sort(result.terms, [&](const Term& a, const Term& b) {
    const std::int64_t step_a = std::abs(a.second);
    const std::int64_t step_b = std::abs(b.second);
    return step_a != step_b ? step_a > step_b : extent_of(stage, a.first) > extent_of(stage, b.first);
  });
  return result;
}

ArrayView read_view(ArrayBuilder& build, const BoundStage& stage, const BoundRead& read, int source) {
  return ViewPlan(build, stage, source).run(read);
}

int aligned(ArrayBuilder& build, const ArrayView& view, const std::vector<int>& order) {
  ArrayShape permutation;
  ArrayShape absent;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const auto found = std::ranges::find(view.iters, order[i]);
    if (found == view.iters.end()) {
      absent.push_back(static_cast<std::int64_t>(i));
    } else {
      permutation.push_back(found - view.iters.begin());
    }
  }
  int value = build.permute(view.value, permutation);
  for (std::int64_t dim : absent) value = build.unsqueeze(value, dim);
  return value;
}

int to_axes(ArrayBuilder& build, const BoundStage& stage, const ArrayView& view) {
  std::vector<int> left;
  for (const LeftAxis& axis : stage.left) left.insert(left.end(), axis.digits.begin(), axis.digits.end());
  int value = aligned(build, view, left);
  ArrayShape full;
  for (std::size_t i = 0; i < left.size(); ++i) {
    const bool batch = build.shape(value)[i] == any_batch;
    full.push_back(batch ? any_batch : extent_of(stage, left[i]));
  }
  value = build.expand(value, full);
  auto end = static_cast<std::int64_t>(left.size());
  for (const LeftAxis& axis : std::views::reverse(stage.left)) {
    const std::int64_t first = end - static_cast<std::int64_t>(axis.digits.size());
    value = build.flatten(value, first, end - 1);
    end = first;
  }
  return value;
}

}  // namespace kasimir
