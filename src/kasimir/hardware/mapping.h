// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"
#include "kasimir/hardware/architecture.h"
#include "kasimir/hardware/problem.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <string>
#include <string_view>

/// Mappings: how a problem's loops are cut into pieces, where each piece runs, and which memories keep what.
namespace kasimir {

/// Size of the flat array of a mapping's loops.
inline constexpr int max_loops = 64;

enum class LoopKind : std::uint8_t { temporal, spatial_x, spatial_y };

/// A loop `for dim in 0 .. bound` of the level that it belongs to: below that level's storage, above the next one's.
template <typename Bound>
struct MappedLoop {
  Bound bound{1};
  std::int8_t dim = 0;
  std::int8_t level = 0;
  LoopKind kind = LoopKind::temporal;
  bool operator==(const MappedLoop&) const = default;
};

/// Loops from the outermost to the innermost, with levels that never decrease; within a level the spatial loops come
/// last, since they run over the children below. The bounds of a dimension multiply to its size, or to more, where the
/// last passes are shorter. Bound is a whole number in a finished mapping, and any scalar of an evaluation in a search.
template <typename Bound>
struct BasicMapping {
  std::array<MappedLoop<Bound>, max_loops> loops{};
  int count = 0;
  /// Per operand of the problem: the levels that keep it, bit `1 << level`. The outermost level always does.
  std::array<std::uint16_t, max_operands> keeps{};

  /// Appends an innermost loop. @throws Error (bug) if there is no room.
  void add(int dim, Bound bound, int level, LoopKind kind = LoopKind::temporal);
  bool operator==(const BasicMapping& other) const {
    return count == other.count && keeps == other.keeps &&
           std::equal(loops.begin(), loops.begin() + count, other.loops.begin());
  }
};

using Mapping = BasicMapping<std::int64_t>;

template <typename Bound>
void BasicMapping<Bound>::add(int dim, Bound bound, int level, LoopKind kind) {
  KASIMIR_CHECK(count < max_loops, "{} loops", count);
  loops[static_cast<std::size_t>(count++)] = {bound, static_cast<std::int8_t>(dim), static_cast<std::int8_t>(level),
                                              kind};
}

/// A mapping without loops that keeps each operand where the architecture keeps its role.
template <typename Bound = std::int64_t>
BasicMapping<Bound> empty_mapping(const Problem& problem, const Architecture& architecture) {
  BasicMapping<Bound> mapping;
  for (std::size_t t = 0; t < problem.operands.size(); ++t)
    for (std::size_t l = 0; l < architecture.levels.size(); ++l)
      if ((architecture.levels[l].keeps & role_bit(problem.operands[t].role)) != 0)
        mapping.keeps[t] = static_cast<std::uint16_t>(mapping.keeps[t] | 1U << l);
  return mapping;
}

/// The same mapping with bounds of another type.
template <typename To, typename From>
BasicMapping<To> mapping_as(const BasicMapping<From>& from) {
  BasicMapping<To> to;
  to.count = from.count;
  to.keeps = from.keeps;
  for (std::size_t i = 0; i < static_cast<std::size_t>(from.count); ++i)
    to.loops[i] = {static_cast<To>(from.loops[i].bound), from.loops[i].dim, from.loops[i].level, from.loops[i].kind};
  return to;
}

/// Everything that the evaluator takes for granted: indices in range, bounds of at least 1, the order of levels,
/// spatial loops last, an outermost level that keeps all. How well the mapping fits is the evaluator's to say.
/// @throws Error (input) naming the loop.
void check_mapping(const Problem& problem, const Architecture& architecture, const Mapping& mapping);

/// Reads the line of the DOSA data (MICRO 2023), outermost level first:
///
///     L3[WIO] P28 R7 Q56 K8 - L2[WI] N1 K4X - L1[O] K2 S7 Q2 P2 C3X - L0[W] P2
///
/// A level is `Lnumber`, counted from the innermost, or its name; in brackets the operands that it keeps, as letters
/// or, where a name has more than one, with commas. A loop is the dimension and its bound, `c1=4` where the name ends
/// in a digit, closed by X or Y if it is spatial. Loops of bound 1 are left out.
/// @throws Error (input) with the part that is wrong.
Mapping parse_mapping(std::string_view text, const Problem& problem, const Architecture& architecture);

/// The line that `parse_mapping` reads back to an equal mapping; a level without loops gets `N1` of the last dimension.
std::string str(const Mapping& mapping, const Problem& problem, const Architecture& architecture);

/// Nested loops, one a line, with what each level keeps in front of its loops.
std::string nested_loops(const Mapping& mapping, const Problem& problem, const Architecture& architecture);

}  // namespace kasimir
