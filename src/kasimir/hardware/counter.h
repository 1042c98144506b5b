// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/counts.h"

#include <concepts>

/// Counting: two passes over a mapping's loops, one inwards for what lies outside each loop, one outwards that stops at
/// each level.
///
/// A tile of a level has the extents of all loops of the level and of those inside. What comes into it over the run
/// follows from the temporal loops outside, inner to outer: loops that the operand does not depend on cost nothing
/// until one that it depends on; that one and all further ones multiply. Spatial loops between two levels multiply what
/// the outer one serves by the children that need elements of their own.
namespace kasimir {

template <typename S, typename Bound>
class Counter {
 public:
  Counter(const CostModel& model, const BasicMapping<Bound>& mapping, BasicCounts<S>& out)
      : model_(model), mapping_(mapping), out_(out), rule_(model.options.footprint) {}

  /// False if it stopped at a violation.
  bool run() {
    if (!inwards()) return false;
    return covers() && outwards();
  }

 private:
  struct Loop {
    S bound;
    std::uint32_t bit;  ///< of its dimension
    std::int8_t dim;
    bool spatial;
    bool unit;  ///< its bound is 1: it does nothing
  };

  bool inwards();
  bool spatial_loop(std::size_t i, std::size_t level);
  bool outwards();
  void spread(std::size_t level);
  void overlap(std::array<S, max_operands>& factors) const;
  void widen(const Loop& by) {
    S& extent = extent_[static_cast<std::size_t>(by.dim)];
    extent = smaller(S(extent * by.bound), S(model_.size[static_cast<std::size_t>(by.dim)]));
  }
  /// What all children together ask for, if one asks for `each`.
  [[nodiscard]] S together(std::size_t operand, const S& each) const {
    const S all = each * spread_[operand];
    return model_.overlaps ? all / overlap_[operand] : all;
  }
  void entry(std::size_t level, std::size_t operand);
  bool capacity(std::size_t level, const std::array<S, 3>& by_role);
  void hop(std::size_t level);
  void change(std::size_t level);
  bool covers();
  bool violate(Constraint constraint, std::size_t level, std::size_t which, const S& used, double limit);
  S width(std::size_t level, const S& updates, const S& distinct) const;

  S visits(const FlatOperand& operand, const S& tile, int start, HaloRule halo) const;
  S hard_visits(const FlatOperand& operand, const S& tile, int start, HaloRule halo) const;
  S soft_visits(const FlatOperand& operand, const S& tile, int start, HaloRule halo) const;
  S hull_of_visits(const FlatOperand& operand, const S& tile, int start, HaloRule halo) const;
  S moved(const FlatOperand& operand, const S& tile, int start, int mover, const S& passes) const;
  S run_of_moves(const FlatOperand& operand, const S& tile, int start, int first) const;
  S swept(const FlatOperand& operand, S tile, int start, int first) const;

  [[nodiscard]] const Loop& loop(int i) const { return loops_[static_cast<std::size_t>(i)]; }
  [[nodiscard]] const S& outside(int i) const { return outside_[static_cast<std::size_t>(i)]; }
  static bool exceeds(const S& value, double limit) { return least(value) > limit * (1 + 1e-9); }

  const CostModel& model_;
  const BasicMapping<Bound>& mapping_;
  BasicCounts<S>& out_;
  const FootprintRule rule_;
  std::array<Loop, max_loops> loops_;
  std::array<S, max_loops + 1> outside_;         ///< passes of the temporal loops outside loop i
  std::array<S, max_loops + 1> outside_result_;  ///< of those that the output depends on
  std::array<int, max_levels + 1> begin_;        ///< first loop of each level
  Extents<S> extent_;                            ///< of the tile at hand
  std::array<S, max_operands> child_;            ///< elements that one child asks for
  std::array<S, max_operands> child_tile_;
  std::array<S, max_operands> spread_;           ///< children that need elements of their own
  std::array<S, max_operands> overlap_;          ///< divides `spread_`
  std::array<std::int8_t, max_operands> below_;  ///< entry of the child
};

/// @returns false if the options stop at a violation and there is one; the counts are then unfinished.
template <typename S, typename Bound>
bool count(const CostModel& model, const BasicMapping<Bound>& mapping, BasicCounts<S>& out) {
  return Counter<S, Bound>(model, mapping, out).run();
}

template <typename S, typename Bound>
bool Counter<S, Bound>::violate(Constraint constraint, std::size_t level, std::size_t which, const S& used,
                                double limit) {
  if (out_.violation_count < max_violations)
    out_.violations[static_cast<std::size_t>(out_.violation_count++)] = {constraint, static_cast<std::int8_t>(level),
                                                                         static_cast<std::int8_t>(which), used, limit};
  return !model_.options.stop_at_violation;
}

template <typename S, typename Bound>
bool Counter<S, Bound>::spatial_loop(std::size_t i, std::size_t level) {
  const std::size_t axis = mapping_.loops[i].kind == LoopKind::spatial_x ? 0 : 1;
  out_.fan_out[level][axis] *= loops_[i].bound;
  if ((model_.level[level].allowed[axis] & loops_[i].bit) != 0 || !exceeds(loops_[i].bound, 1)) return true;
  return violate(Constraint::shares, level, static_cast<std::size_t>(loops_[i].dim), loops_[i].bound, 1);
}

template <typename S, typename Bound>
bool Counter<S, Bound>::inwards() {
  out_.count = 0;
  out_.violation_count = 0;
  S steps{1};
  S result_steps{1};
  Truth split = Truth::no;
  bool go_on = true;
  for (std::size_t d = 0; d < static_cast<std::size_t>(model_.dims); ++d) out_.covered[d] = S(1);
  out_.instances[0] = S(1);
  std::size_t i = 0;
  for (std::size_t l = 0; l < static_cast<std::size_t>(model_.levels); ++l) {
    begin_[l] = static_cast<int>(i);
    out_.split_sums[l] = split;
    out_.fan_out[l] = {S(1), S(1)};
    for (; i < static_cast<std::size_t>(mapping_.count) && mapping_.loops[i].level == static_cast<int>(l); ++i) {
      const auto& from = mapping_.loops[i];
      const S bound(from.bound);
      const std::uint32_t bit = 1U << static_cast<unsigned>(from.dim);
      loops_[i] = {bound, bit, from.dim, from.kind != LoopKind::temporal, is_unit(bound) == Truth::yes};
      const bool result = (model_.operand[0].relevant & bit) != 0;
      outside_[i] = steps;
      outside_result_[i] = result_steps;
      out_.covered[static_cast<std::size_t>(from.dim)] *= bound;
      if (loops_[i].spatial) {
        if (!result && !loops_[i].unit)
          split = std::max(split, is_unit(bound) == Truth::no ? Truth::yes : Truth::maybe);
        go_on = spatial_loop(i, l) && go_on;
      } else {
        steps *= bound;
        if (result) result_steps *= bound;
      }
    }
    out_.instances[l + 1] = out_.instances[l] * out_.fan_out[l][0] * out_.fan_out[l][1];
    for (const std::size_t axis : {std::size_t{0}, std::size_t{1}})
      if (exceeds(out_.fan_out[l][axis], model_.level[l].fan[axis]))
        go_on = violate(axis == 0 ? Constraint::fan_out_x : Constraint::fan_out_y, l, 0, out_.fan_out[l][axis],
                        model_.level[l].fan[axis]) &&
                go_on;
  }
  begin_[static_cast<std::size_t>(model_.levels)] = static_cast<int>(i);
  outside_[i] = steps;
  outside_result_[i] = result_steps;
  out_.steps = steps;
  return go_on;
}

template <typename S, typename Bound>
bool Counter<S, Bound>::covers() {
  bool go_on = true;
  for (std::size_t d = 0; d < static_cast<std::size_t>(model_.dims); ++d) {
    const double size = model_.size[d];
    if (largest(out_.covered[d]) < size * (1 - 1e-9))
      go_on = violate(Constraint::uncovered, 0, d, out_.covered[d], size) && go_on;
  }
  for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t) {
    const unsigned wrong = mapping_.keeps[t] & ~static_cast<unsigned>(model_.keepable[t]);
    for (std::size_t l = 0; wrong >> l != 0; ++l)
      if ((wrong >> l & 1U) != 0) go_on = violate(Constraint::keeps, l, t, S(1), 0) && go_on;
  }
  return go_on;
}

template <typename S, typename Bound>
bool Counter<S, Bound>::outwards() {
  for (std::size_t d = 0; d < static_cast<std::size_t>(model_.dims); ++d) extent_[d] = S(1);
  for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t) {
    child_[t] = out_.steps;
    child_tile_[t] = spread_[t] = overlap_[t] = S(1);
    below_[t] = -1;
  }
  bool go_on = true;
  for (auto l = static_cast<std::size_t>(model_.levels); l-- > 0;) {
    change(l);
    if (model_.hops) hop(l);
    spread(l);
    std::array<S, 3> by_role{S(0), S(0), S(0)};
    out_.used_bits[l] = S(0);
    for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t) {
      if ((mapping_.keeps[t] >> l & 1U) == 0) continue;
      entry(l, t);
      const BasicCount<S>& made = out_.entries[static_cast<std::size_t>(out_.count - 1)];
      const S bits = made.footprint * made.bits * S(model_.level[l].copies);
      out_.used_bits[l] += bits;
      by_role[static_cast<std::size_t>(model_.operand[t].role)] += bits;
    }
    go_on = capacity(l, by_role) && go_on;
    if (!go_on) return false;
  }
  return true;
}

/// The loops of a level join the tile; spatial ones decide how many children ask for elements of their own.
template <typename S, typename Bound>
void Counter<S, Bound>::spread(std::size_t level) {
  const FlatLevel& flat = model_.level[level];
  int i = begin_[level + 1] - 1;
  if (flat.share_overlaps) overlap(overlap_);
  for (; i >= begin_[level] && loop(i).spatial; --i) {
    const std::size_t axis = mapping_.loops[static_cast<std::size_t>(i)].kind == LoopKind::spatial_x ? 0 : 1;
    for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t) {
      const bool once = t == 0 ? flat.reduction[axis] : flat.multicast[axis];
      const bool relevant = (model_.operand[t].relevant & loop(i).bit) != 0;
      const bool overlapping = flat.share_overlaps && t > 0 && model_.operand[t].sliding != 0;
      if (relevant ? !overlapping : !once) spread_[t] *= loop(i).bound;
    }
    widen(loop(i));
  }
  if (flat.share_overlaps) overlap(spread_);
  for (; i >= begin_[level]; --i) widen(loop(i));
}

/// Of operands whose neighbouring windows overlap, children together ask for the union of their tiles.
template <typename S, typename Bound>
void Counter<S, Bound>::overlap(std::array<S, max_operands>& factors) const {
  for (std::size_t t = 1; t < static_cast<std::size_t>(model_.operands); ++t)
    if (model_.operand[t].sliding != 0) factors[t] *= footprint(model_.operand[t], extent_, rule_);
}

template <typename S, typename Bound>
void Counter<S, Bound>::entry(std::size_t level, std::size_t t) {
  const FlatOperand& operand = model_.operand[t];
  BasicCount<S>& made = out_.entries[static_cast<std::size_t>(out_.count)];
  made.level = static_cast<std::int8_t>(level);
  made.operand = static_cast<std::int8_t>(t);
  made.below = below_[t];
  made.outermost = (mapping_.keeps[t] & ((1U << level) - 1)) == 0;
  made.footprint = footprint(operand, extent_, rule_);
  const S served = together(t, child_[t]);
  made.first = together(t, child_tile_[t]);
  child_[t] = visits(operand, made.footprint, begin_[level] - 1, model_.options.halo);
  child_tile_[t] = made.footprint;
  spread_[t] = overlap_[t] = S(1);
  below_[t] = static_cast<std::int8_t>(out_.count++);
  if (t != 0) {
    made.bits = S(operand.bits);
    made.reads = served;
    made.fills = made.outermost ? S(0) : child_[t];
    made.updates = made.distinct = S(0);
    return;
  }
  made.updates = served;
  made.distinct = smaller(S(made.footprint * outside_result_[static_cast<std::size_t>(begin_[level])]), served);
  made.reads = larger(S(0), S(served - made.distinct));
  made.fills = S(0);
  if (!made.outermost)
    made.fills = model_.options.first_fill_elided ? larger(S(0), S(child_[t] - made.distinct)) : child_[t];
  made.bits = width(level, served, made.distinct);
}

/// Bits of an output element at a level: it is a partial sum if another update follows, here or further out.
template <typename S, typename Bound>
S Counter<S, Bound>::width(std::size_t level, const S& updates, const S& distinct) const {
  const S bits(model_.operand[0].bits);
  const S partial(model_.operand[0].partial_bits);
  if (out_.split_sums[level] == Truth::yes) return partial;
  if constexpr (std::same_as<S, Interval>) {
    return Interval(
        updates.low > distinct.high * (1 + 1e-12) ? std::max(partial.low, bits.low) : std::min(partial.low, bits.low),
        std::max(partial.high, bits.high));
  } else {
    if constexpr (!ExactScalar<S>)
      if (model_.options.softness > 0) return partial + (bits - partial) * distinct / updates;
    return exceeds(updates, least(distinct)) ? partial : bits;
  }
}

template <typename S, typename Bound>
bool Counter<S, Bound>::capacity(std::size_t level, const std::array<S, 3>& by_role) {
  const FlatLevel& flat = model_.level[level];
  bool go_on = true;
  if (exceeds(out_.used_bits[level], flat.capacity))
    go_on = violate(Constraint::capacity, level, 0, out_.used_bits[level], flat.capacity);
  for (std::size_t role = 0; flat.partitioned && role < 3; ++role)
    if (exceeds(by_role[role], flat.partition[role]))
      go_on = violate(Constraint::partition, level, role, by_role[role], flat.partition[role]) && go_on;
  return go_on;
}

/// Each child's words cross one link below the level, partial sums at their own width.
template <typename S, typename Bound>
void Counter<S, Bound>::hop(std::size_t level) {
  out_.hop_bits[level] = S(0);
  for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t)
    out_.hop_bits[level] += together(t, child_[t]) * out_.instances[level + 1] *
                            S(t == 0 ? model_.operand[t].partial_bits : model_.operand[t].bits);
}

template <typename S, typename Bound>
void Counter<S, Bound>::change(std::size_t level) {
  const Systolic stationary = model_.level[level].systolic;
  if (stationary == Systolic::none) return;
  out_.changes[level] = S(1);
  for (std::size_t t = 0; t < static_cast<std::size_t>(model_.operands); ++t)
    if (static_cast<int>(model_.operand[t].role) == static_cast<int>(stationary) - 1)
      out_.changes[level] =
          larger(out_.changes[level], visits(model_.operand[t], S(1), begin_[level + 1] - 1, HaloRule::none));
}

/// Elements that come into a tile over the whole run: `start` is the innermost loop outside of it.
template <typename S, typename Bound>
S Counter<S, Bound>::visits(const FlatOperand& operand, const S& tile, int start, HaloRule halo) const {
  if constexpr (std::same_as<S, Interval>) return hull_of_visits(operand, tile, start, halo);
  if constexpr (!ExactScalar<S> && !std::same_as<S, Interval>)
    if (model_.options.softness > 0) return soft_visits(operand, tile, start, halo);
  return hard_visits(operand, tile, start, halo);
}

template <typename S, typename Bound>
S Counter<S, Bound>::hard_visits(const FlatOperand& operand, const S& tile, int start, HaloRule halo) const {
  bool skipped = false;
  for (int i = start; i >= 0; --i) {
    if (loop(i).unit || loop(i).spatial) continue;
    if ((operand.relevant & loop(i).bit) == 0) {
      skipped = true;
      continue;
    }
    if (halo == HaloRule::none || operand.sliding == 0) return tile * loop(i).bound * outside(i);
    if (halo == HaloRule::full) return swept(operand, tile, start, i);
    return skipped ? tile * loop(i).bound * outside(i) : run_of_moves(operand, tile, start, i);
  }
  return tile;
}

template <typename S, typename Bound>
S Counter<S, Bound>::soft_visits(const FlatOperand& operand, const S& tile, int start, HaloRule halo) const {
  S count = tile;
  S still{1};        // 1 as long as no relevant loop lies inside, towards 0 with one
  S undisturbed{1};  // the same of any loop
  for (int i = start; i >= 0; --i) {
    if (loop(i).unit || loop(i).spatial) continue;
    const S& bound = loop(i).bound;
    const S fades = power(bound, -model_.options.softness);
    if ((operand.relevant & loop(i).bit) == 0) {
      count *= S(1) + (bound - S(1)) * (S(1) - still);
    } else {
      S passes = bound;
      if (halo != HaloRule::none && (operand.sliding & loop(i).bit) != 0)
        passes = undisturbed * moved(operand, tile, start, i, bound) / tile + (S(1) - undisturbed) * bound;
      count *= passes;
      still *= fades;
    }
    undisturbed *= fades;
  }
  return count;
}

/// A loop whose interval contains 1 may be absent: both cases are kept.
template <typename S, typename Bound>
S Counter<S, Bound>::hull_of_visits(const FlatOperand& operand, const S& tile, int start, HaloRule halo) const {
  if constexpr (std::same_as<S, Interval>) {
    S count = tile;
    Extents<S> whole = extent_;
    Truth found = Truth::no;
    bool union_counts = halo == HaloRule::full;
    std::uint32_t next_inside = 0;  // dimensions that the next loop inside may have
    for (int i = start; i >= 0; --i) {
      if (loop(i).unit || loop(i).spatial) continue;
      const S& bound = loop(i).bound;
      whole[static_cast<std::size_t>(loop(i).dim)] *= bound;
      const bool may_be_absent = is_unit(bound) == Truth::maybe;
      union_counts = union_counts || (halo == HaloRule::innermost && (next_inside & loop(i).bit) != 0);
      next_inside = (may_be_absent ? next_inside : 0U) | loop(i).bit;
      if ((operand.relevant & loop(i).bit) == 0) {
        if (found == Truth::maybe) count = hull(count, count * bound);
        if (found == Truth::yes) count *= bound;
        continue;
      }
      S first = tile * bound;
      if (halo != HaloRule::none) first = hull(first, moved(operand, tile, start, i, bound));
      count = found == Truth::yes ? count * bound : found == Truth::no ? first : hull(count * bound, first);
      if (found != Truth::yes) found = may_be_absent ? Truth::maybe : Truth::yes;
    }
    if (union_counts) count.low = std::min(count.low, footprint(operand, whole, rule_).low);
    return count;
  } else {
    return tile;
  }
}

/// The innermost relevant loop moves the tile, and so do the loops around it over the same dimension.
template <typename S, typename Bound>
S Counter<S, Bound>::run_of_moves(const FlatOperand& operand, const S& tile, int start, int first) const {
  S passes = loop(first).bound;
  int last = first;
  for (int i = first - 1; i >= 0; --i) {
    if (loop(i).unit) continue;
    if (loop(i).dim == loop(first).dim ? loop(i).spatial : !loop(i).spatial) break;
    if (loop(i).spatial) continue;
    passes *= loop(i).bound;
    last = i;
  }
  return moved(operand, tile, start, first, passes) * outside(last);
}

/// Elements that a loop over the dimension of `mover` fetches in all its passes, if it does nothing but move this tile.
template <typename S, typename Bound>
S Counter<S, Bound>::moved(const FlatOperand& operand, const S& tile, int start, int mover, const S& passes) const {
  const Loop& by = loop(mover);
  const S apart = tile * passes;
  if ((operand.sliding & by.bit) == 0) return apart;
  S stride = extent_[static_cast<std::size_t>(by.dim)];
  bool gap = false;  // instances side by side lie between one pass and the next
  for (int i = mover + 1; i <= start; ++i) {
    if (loop(i).dim != by.dim || !loop(i).spatial || loop(i).unit) continue;
    stride *= loop(i).bound;
    gap = true;
  }
  if (rule_ == FootprintRule::bounding_box)
    return tile + (passes - S(1)) * (tile - kept_by_box(operand, extent_, by.dim, stride));
  Extents<S> together = extent_;
  together[static_cast<std::size_t>(by.dim)] *= passes;
  if constexpr (std::same_as<S, Interval>) return {footprint(operand, together, rule_).low, apart.high};
  if (!gap) return smaller(apart, footprint(operand, together, rule_));
  // a tile with holes may meet itself in its holes: nothing is credited to it
  if (exceeds(footprint(operand, extent_, FootprintRule::bounding_box), least(tile))) return apart;
  return tile + (passes - S(1)) * (tile - kept_by_box(operand, extent_, by.dim, stride));
}

/// Elements of the union over all consecutive relevant loops from `first` outwards, times what lies outside of them.
template <typename S, typename Bound>
S Counter<S, Bound>::swept(const FlatOperand& operand, S tile, int start, int first) const {
  Extents<S> together = extent_;
  std::uint32_t gaps = 0;
  for (int i = start; i > first; --i)
    if (loop(i).spatial && !loop(i).unit) gaps |= loop(i).bit;
  for (int i = first; i >= 0; --i) {
    const Loop& by = loop(i);
    if (by.unit) continue;
    if (by.spatial) {
      gaps |= by.bit;
      continue;
    }
    if ((operand.relevant & by.bit) == 0) return tile * by.bound * outside(i);
    if ((operand.sliding & by.bit & gaps) != 0)
      return (i == first ? moved(operand, tile, start, i, by.bound) : tile * by.bound) * outside(i);
    together[static_cast<std::size_t>(by.dim)] *= by.bound;
    tile = smaller(S(tile * by.bound), footprint(operand, together, rule_));
  }
  return tile;
}

}  // namespace kasimir
