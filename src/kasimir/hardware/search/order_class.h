// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/space.h"

#include <array>
#include <cstdint>
#include <vector>

/// Orders of loops, as far as they matter. What comes into a tile depends on which loops around it leave the operand
/// alone until one of its own comes; so of all permutations of a level's loops only a few classes differ: which
/// dimensions come innermost, that no operand at stake but one depends on, and which of them slides a window first.
namespace kasimir {

/// The temporal loops of one level, from the innermost outwards: dimensions of `classes[0]`, then `classes[1]`, ..,
/// and, if `open`, all others.
struct LevelOrder {
  std::vector<std::uint32_t> classes;
  bool open = false;  ///< the level may have loops of other dimensions, too
  /// Not decided: each operand sees the loops in the order that is best for it. Costs are no more than in any order.
  bool relaxed = false;
  int innermost = -1;  ///< dimension of classes[0] that is the very innermost; -1: any

  /// Dimensions that may have a loop here.
  [[nodiscard]] std::uint32_t active() const;
  bool operator==(const LevelOrder&) const = default;
};

/// One entry for each level, the outermost first.
using OrderClass = std::vector<LevelOrder>;

/// The loops outside a tile that fetch it anew.
struct Walk {
  std::array<std::uint32_t, max_levels> counted{};  ///< per level: dimensions whose loops multiply
  int slides = -1;                                  ///< dimension whose loops move a window; they are not in `counted`
  std::uint16_t slide_levels = 0;                   ///< levels of these loops, bit `1 << level`
  bool may_slide = false;                           ///< a relaxed level was passed: any one dimension may slide
  bool operator==(const Walk&) const = default;
};

/// From storage at `level` outwards. `halo` says whether overlapping windows are credited.
Walk walk(const CostModel& model, const OrderClass& orders, int operand, int level, bool halo);

/// Orders of each level such that each mapping that keeps operands as `keeps` says costs at least as much as one with
/// the same bounds in some of them; empty if they are more than anybody would list.
std::vector<std::vector<LevelOrder>> level_orders(const CostModel& model, const Keeps& keeps);

/// The same, multiplied out. Classes such that each mapping that keeps operands as `keeps` says costs at least as much
/// as one with the same bounds in the order of some class.
std::vector<OrderClass> order_classes(const CostModel& model, const Keeps& keeps);

/// How many there are; infinity if they are more than anybody would list.
double order_class_count(const CostModel& model, const Keeps& keeps);

/// The class of just this mapping, which has at most one loop over a dimension in each level's time.
OrderClass order_class_of(const CostModel& model, const Mapping& mapping);

/// For MappingSpace::build: per slot the dimensions from the outermost inwards.
std::vector<std::vector<int>> loop_orders(const MappingSpace& space, const OrderClass& orders, int dims);

}  // namespace kasimir
