// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/division.h"
#include "kasimir/interp/field_plan.h"
#include "kasimir/interp/interpreter.h"

#include <algorithm>
#include <array>

namespace kasimir {
namespace {

constexpr std::size_t longest_row = 0x8000;  // a FieldRow counts in 16 bits
constexpr std::size_t most_axes = 16;

/// An axis whose coordinate may be outside, or wraps: it is looked at in each row.
struct Bounded {
  std::int64_t start;  ///< the coordinate where the row begins
  std::int64_t extent;
  std::int64_t wrap;
  std::int64_t stride;
  std::int64_t step = 0;  ///< from one element of a row to the next
};

/// Whether a coordinate is inside for all values of the iterators, and below the wrap.
bool always_inside(const detail::PreparedAxis& axis, const BoundStage& stage, const std::vector<int>& order) {
  std::int64_t least = axis.offset;
  std::int64_t most = axis.offset;
  for (const auto& [iter, factor] : axis.terms) {
    if (std::ranges::find(order, iter) == order.end()) continue;
    const std::int64_t reach = factor * (stage.iters[static_cast<std::size_t>(iter)].extent - 1);
    (reach < 0 ? least : most) += reach;
  }
  return least >= 0 && most < (axis.wrap == 0 ? axis.extent : std::min(axis.wrap, axis.extent));
}

/// Walks through the rows. What each level of the order adds to a position and to the coordinates is worked out once.
class Walker {
 public:
  Walker(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read, const std::vector<int>& order) {
    for (const int iter : order)
      levels_.push_back({stage.iters[static_cast<std::size_t>(iter)].extent, 0, false, false, {}});
    for (const detail::PreparedAxis& axis : detail::prepare(graph, read)) add(axis, stage, order);
  }

  FieldWalk walk(std::size_t mergeable) {
    FieldWalk walk;
    split(walk, mergeable);
    std::size_t count = 1;
    for (const Level& level : levels_) count *= static_cast<std::size_t>(level.extent);
    walk.rows.reserve(count);
    for (std::size_t i = 0; i < count; ++i) {
      walk.rows.push_back(row(walk));
      advance();
    }
    return walk;
  }

 private:
  struct Level {
    std::int64_t extent;
    std::int64_t stride;                        ///< of what is not wrapped
    bool bounded;                               ///< moves a coordinate that is looked at
    bool wraps;                                 ///< one of them wraps
    std::array<std::int64_t, most_axes> moves;  ///< of each bounded axis
    std::int64_t at = 0;
  };

  void add(const detail::PreparedAxis& axis, const BoundStage& stage, const std::vector<int>& order) {
    const bool inside = always_inside(axis, stage, order);
    const bool wraps = axis.wrap != 0 && !inside;
    if (!wraps) place_ += axis.offset * axis.stride;
    for (const auto& [iter, factor] : axis.terms) {
      const auto found = std::ranges::find(order, iter);
      if (found == order.end() || factor == 0) continue;
      Level& level = levels_[static_cast<std::size_t>(found - order.begin())];
      if (!wraps) level.stride += factor * axis.stride;
      if (inside) continue;
      level.moves[bounded_.size()] += factor;
      level.bounded = true;
      level.wraps = level.wraps || wraps;
    }
    if (inside) return;
    KASIMIR_CHECK(bounded_.size() < most_axes, "{} axes that are read outside", bounded_.size() + 1);
    bounded_.push_back({axis.offset, axis.extent, axis.wrap, axis.stride});
  }

  /// The last levels become the row, as far as they follow one another in memory.
  void split(FieldWalk& walk, std::size_t mergeable) {
    if (levels_.empty() || levels_.back().wraps) return;
    const Level inner = levels_.back();
    levels_.pop_back();
    walk.length = static_cast<std::uint32_t>(inner.extent);
    walk.stride = static_cast<std::int32_t>(inner.stride);
    for (std::size_t b = 0; b < bounded_.size(); ++b) bounded_[b].step = inner.moves[b];
    for (std::size_t merged = 1; !levels_.empty() && merged < mergeable && !inner.bounded; ++merged) {
      const Level& outer = levels_.back();
      const std::size_t length = walk.length * static_cast<std::size_t>(outer.extent);
      if (outer.bounded || outer.stride != inner.stride * walk.length || length > longest_row) break;
      walk.length = static_cast<std::uint32_t>(length);
      levels_.pop_back();
    }
  }

  [[nodiscard]] FieldRow row(const FieldWalk& walk) const {
    std::int64_t first = 0;
    std::int64_t last = walk.length;
    std::int64_t place = place_;
    for (const Bounded& axis : bounded_) {
      if (axis.wrap != 0) {
        const std::int64_t at = ((axis.start % axis.wrap) + axis.wrap) % axis.wrap;
        place += at * axis.stride;
        if (at >= axis.extent) last = 0;
      } else if (axis.step == 0) {
        if (axis.start < 0 || axis.start >= axis.extent) last = 0;
      } else if (axis.step > 0) {
        first = std::max(first, ceil_div(-axis.start, axis.step));
        last = std::min(last, ceil_div(axis.extent - axis.start, axis.step));
      } else {
        first = std::max(first, ceil_div(axis.start - axis.extent + 1, -axis.step));
        last = std::min(last, ceil_div(axis.start + 1, -axis.step));
      }
    }
    if (first >= last) return {0, 0, 0};
    return {static_cast<std::uint32_t>(place + first * walk.stride), static_cast<std::uint16_t>(first),
            static_cast<std::uint16_t>(last)};
  }

  void move(const Level& level, std::int64_t steps) {
    place_ += steps * level.stride;
    if (!level.bounded) return;
    for (std::size_t b = 0; b < bounded_.size(); ++b) bounded_[b].start += steps * level.moves[b];
  }
  void advance() {
    for (std::size_t i = levels_.size(); i-- > 0;) {
      Level& level = levels_[i];
      if (++level.at < level.extent) return move(level, 1);
      move(level, 1 - level.extent);
      level.at = 0;
    }
  }

  std::vector<Level> levels_;
  std::vector<Bounded> bounded_;
  std::int64_t place_ = 0;
};

}  // namespace

FieldWalk field_walk(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                     const std::vector<int>& order, std::size_t mergeable) {
  return Walker(graph, stage, read, order).walk(mergeable);
}

}  // namespace kasimir
