// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/layout.h"

#include <optional>
#include <set>

namespace kasimir {

/// A coordinate that memory alone does not make safe: it may leave its axis where nothing is stored, or it wraps.
struct GuardedCoord {
  BoundCoord coord;         ///< in the nest's loops
  std::int64_t extent = 0;  ///< of the axis
  std::int64_t stride = 0;  ///< of the axis in memory
  bool tested = false;      ///< it may be outside `0 .. extent - 1`
};

/// The guard depends on this loop alone, one step at a time: where it changes is known.
bool splits(const GuardedCoord& guard, int loop);
/// The guard is met by all steps of this loop, which takes so many, or by none: they are digits of a whole number.
bool whole_steps(const GuardedCoord& guard, int loop, std::int64_t extent);
/// Of a guard that splits(): the steps before the loop's end at which it begins or ends to hold, or wraps.
std::set<std::int64_t> seams(const GuardedCoord& guard, std::int64_t extent);

/// A read or a write as an address from where the tensor begins: `base + sum of stride * loop`, plus what the guarded
/// coordinates add.
struct Access {
  int tensor = -1;
  Element element;
  std::int64_t base = 0;
  std::vector<std::int64_t> strides;  ///< per loop of the nest
  std::vector<GuardedCoord> guarded;
};

/// The access on a piece of a loop of `extent` steps over vectors that begins at `low`, cut where seams() says: guards
/// of that loop (-1: none) are settled. Nothing where it is outside.
std::optional<Access> settled(const Access& access, int loop, std::int64_t extent, std::int64_t low);

/// In which of the reduced loops, given by their extents with the outermost first, a partial sum begins anew each time
/// round, so that no sum has very many terms: one sum over all the places of a batch would lose what is small beside
/// it. `terms`: what is added each time round the innermost of them.
std::vector<bool> partial_sums(const std::vector<std::int64_t>& extents, std::int64_t terms);

/// The address of a read or write of a nest, with its own loops.
Access access_of(const NestProgram& program, const Nest& nest, const MemoryPlan& plan, int tensor,
                 const std::vector<BoundCoord>& at);

/// NestCopy as addresses.
struct FlatCopy {
  Access out;
  std::vector<std::optional<Access>> value;
};
std::vector<FlatCopy> copies_of(const NestProgram& program, const Nest& nest, const MemoryPlan& plan);

/// A nest as addresses. Loops of extent 1 are gone, and loops that every access walks as one are one.
struct FlatNest {
  const Nest* nest = nullptr;
  std::vector<BoundIter> loops;  ///< those of the result first
  int free = 0;
  Access out;
  std::vector<std::optional<Access>> value;     ///< per node of the nest's value, for its reads
  std::vector<std::optional<Access>> epilogue;  ///< likewise
  std::vector<FlatCopy> also;
};

FlatNest flatten(const NestProgram& program, const Nest& nest, const MemoryPlan& plan);

}  // namespace kasimir
