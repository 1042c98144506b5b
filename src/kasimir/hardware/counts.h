// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/cost_model.h"
#include "kasimir/hardware/scalar.h"

/// What the counting of a mapping finds, and how large its tiles are.
namespace kasimir {

enum class Constraint : std::uint8_t {
  capacity,   ///< bits that a level holds
  partition,  ///< bits of one role that a level holds
  fan_out_x,  ///< children that run side by side
  fan_out_y,
  shares,    ///< a spatial loop over a dimension that the fan-out does not allow
  keeps,     ///< an operand at a level that cannot keep it
  uncovered  ///< passes of a dimension, fewer than its size
};

/// What does not fit: `used` is more than `limit`; for `uncovered`, less.
template <typename S>
struct BasicViolation {
  Constraint constraint = Constraint::capacity;
  std::int8_t level = 0;
  std::int8_t which = 0;  ///< role of a partition, dimension of `shares` and `uncovered`, operand of `keeps`
  S used{};
  double limit = 0;
};

inline constexpr int max_violations = 32;

/// One operand at one level that keeps it. Numbers are per instance of the level.
template <typename S>
struct BasicCount {
  std::int8_t level = 0;
  std::int8_t operand = 0;
  std::int8_t below = -1;  ///< entry of the next level inside that keeps the operand; -1: the compute units
  bool outermost = false;
  S bits{};       ///< of an element while it is kept here: a partial sum's, where sums are unfinished
  S footprint{};  ///< elements that are kept at a time
  S reads{};      ///< towards the inside; partial sums that go on, for the output
  S fills{};      ///< from the outside
  S updates{};    ///< results from the inside
  S distinct{};   ///< output: different elements over the whole run
  S first{};      ///< elements that the first tiles of all children take from here
};

/// Filled by `count`; entries beyond the counts hold what an earlier run left there.
template <typename S>
struct BasicCounts {
  std::array<BasicCount<S>, static_cast<std::size_t>(max_levels* max_operands)> entries;
  int count = 0;                                     ///< entries, the innermost level first
  S steps{};                                         ///< passes of all temporal loops together
  std::array<S, max_levels + 1> instances;           ///< of each level that are in use; after the last: compute units
  std::array<std::array<S, 2>, max_levels> fan_out;  ///< children in use, x and y
  std::array<S, max_levels> used_bits;               ///< of each level
  std::array<S, max_levels> changes;                 ///< of the stationary operand of a systolic array
  std::array<S, max_levels> hop_bits;                ///< that cross one link below the level, of all instances
  std::array<S, max_dims> covered;                   ///< product of the bounds of each dimension
  std::array<Truth, max_levels> split_sums;          ///< partial sums of an element meet outside of the level only
  std::array<BasicViolation<S>, max_violations> violations;
  int violation_count = 0;
};

template <typename S>
using Extents = std::array<S, max_dims>;

/// Elements along one axis that a tile with these extents touches.
template <typename S>
S rank_footprint(const FlatOperand& operand, const FlatRank& rank, const Extents<S>& e, FootprintRule rule) {
  const FlatTerm* term = &operand.terms[static_cast<std::size_t>(rank.first)];
  const auto extent = [&](int k) -> const S& { return e[static_cast<std::size_t>(term[k].dim)]; };
  S x{1};
  if (rule == FootprintRule::exact && rank.terms == 1) {
    x = extent(0);
  } else if (rule == FootprintRule::exact && rank.terms == 2) {
    // c1 * i + c2 * j without common factors is the same for two pairs iff i differs by c2 and j by c1
    const S rows = larger(S(0), S(extent(0) - S(term[1].coefficient / rank.common)));
    const S columns = larger(S(0), S(extent(1) - S(term[0].coefficient / rank.common)));
    x = extent(0) * extent(1) - rows * columns;
  } else {
    for (int k = 0; k < rank.terms; ++k) x += S(term[k].coefficient) * (extent(k) - S(1));
  }
  return smaller(x, S(rank.extent));
}

/// Elements of an operand that a tile with these extents touches.
template <typename S>
S footprint(const FlatOperand& operand, const Extents<S>& e, FootprintRule rule) {
  S product{1};
  for (int k = 0; k < operand.plain_count; ++k)
    product *= e[static_cast<std::size_t>(operand.plain[static_cast<std::size_t>(k)])];
  for (int r = 0; r < operand.rank_count; ++r)
    product *= rank_footprint(operand, operand.ranks[static_cast<std::size_t>(r)], e, rule);
  return product;
}

/// A footprint grows with the extents: its ends are those of the ends.
inline Interval footprint(const FlatOperand& operand, const Extents<Interval>& e, FootprintRule rule) {
  Extents<double> low;
  Extents<double> high;
  for (std::size_t d = 0; d < e.size(); ++d) {
    low[d] = e[d].low;
    high[d] = e[d].high;
  }
  return {footprint(operand, low, rule), footprint(operand, high, rule)};
}

/// Elements of the box around a tile that are still there when `dim`, one that slides, goes on by `stride`.
template <typename S>
S kept_by_box(const FlatOperand& operand, const Extents<S>& e, int dim, const S& stride) {
  S product{1};
  for (int k = 0; k < operand.plain_count; ++k)
    product *= e[static_cast<std::size_t>(operand.plain[static_cast<std::size_t>(k)])];
  for (int r = 0; r < operand.rank_count; ++r) {
    const FlatRank& rank = operand.ranks[static_cast<std::size_t>(r)];
    S x = rank_footprint(operand, rank, e, FootprintRule::bounding_box);
    for (int k = rank.first; k < rank.first + rank.terms; ++k) {
      const FlatTerm& term = operand.terms[static_cast<std::size_t>(k)];
      if (term.dim == dim) x = larger(S(0), S(x - S(term.coefficient) * stride));
    }
    product *= x;
  }
  return product;
}

}  // namespace kasimir
