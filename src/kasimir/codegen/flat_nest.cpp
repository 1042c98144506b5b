// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/flat_nest.h"

#include <algorithm>
#include <cstdlib>
#include <functional>

namespace kasimir {
namespace {

void for_each_access(FlatNest& flat, const std::function<void(Access&)>& visit) {
  visit(flat.out);
  for (auto* accesses : {&flat.value, &flat.epilogue})
    for (auto& access : *accesses)
      if (access) visit(*access);
  for (FlatCopy& copy : flat.also) {
    visit(copy.out);
    for (auto& access : copy.value)
      if (access) visit(*access);
  }
}

std::vector<std::optional<Access>> reads_of(const NestProgram& program, const Nest& nest, const MemoryPlan& plan,
                                            const std::vector<NestNode>& nodes) {
  std::vector<std::optional<Access>> accesses(nodes.size());
  for (std::size_t i = 0; i < nodes.size(); ++i)
    if (const auto* read = std::get_if<BoundRead>(&nodes[i]))
      accesses[i] = access_of(program, nest, plan, read->tensor, read->at);
  return accesses;
}

bool guards(const Access& access, int loop) {
  return std::ranges::any_of(access.guarded, [&](const GuardedCoord& guard) {
    return std::ranges::any_of(guard.coord.terms, [&](const auto& term) { return term.first == loop; });
  });
}

/// Takes a loop out of every access; what names later loops moves down.
void remove_loop(FlatNest& flat, int loop) {
  for_each_access(flat, [&](Access& access) {
    access.strides.erase(access.strides.begin() + loop);
    for (GuardedCoord& guard : access.guarded) {
      std::erase_if(guard.coord.terms, [&](const auto& term) { return term.first == loop; });
      for (auto& term : guard.coord.terms) term.first -= term.first > loop ? 1 : 0;
    }
  });
  flat.loops.erase(flat.loops.begin() + loop);
  if (loop < flat.free) --flat.free;
}

/// Loop `inner` continues where loop `outer` steps, in every access.
bool walks_as_one(FlatNest& flat, int outer, int inner) {
  if ((outer < flat.free) != (inner < flat.free)) return false;
  const std::int64_t extent = flat.loops[static_cast<std::size_t>(inner)].extent;
  bool one = true;
  for_each_access(flat, [&](Access& access) {
    one = one && !guards(access, outer) && !guards(access, inner) &&
          access.strides[static_cast<std::size_t>(outer)] == extent * access.strides[static_cast<std::size_t>(inner)];
  });
  return one;
}

bool merge_some(FlatNest& flat) {
  const int count = static_cast<int>(flat.loops.size());
  for (int outer = 0; outer < count; ++outer)
    for (int inner = 0; inner < count; ++inner) {
      if (outer == inner || !walks_as_one(flat, outer, inner)) continue;
      flat.loops[static_cast<std::size_t>(inner)].extent *= flat.loops[static_cast<std::size_t>(outer)].extent;
      remove_loop(flat, outer);
      return true;
    }
  return false;
}

}  // namespace

bool splits(const GuardedCoord& guard, int loop) {
  return guard.coord.terms.size() == 1 && guard.coord.terms[0].first == loop &&
         std::abs(guard.coord.terms[0].second) == 1;
}

bool whole_steps(const GuardedCoord& guard, int loop, std::int64_t extent) {
  bool steps = false;
  for (const auto& [term, factor] : guard.coord.terms) {
    if (term != loop && factor % extent != 0) return false;
    if (term == loop && factor != 1) return false;
    steps = steps || term == loop;
  }
  return steps && !guard.coord.wrap && guard.coord.offset % extent == 0 && guard.extent % extent == 0;
}

std::set<std::int64_t> seams(const GuardedCoord& guard, std::int64_t extent) {
  std::set<std::int64_t> found;
  const std::int64_t sign = guard.coord.terms[0].second;
  const std::int64_t period = guard.coord.wrap.value_or(0);
  const auto piece = [&](std::int64_t at) {
    const std::int64_t turn = period == 0 ? 0 : (at >= 0 ? at / period : -((-at + period - 1) / period));
    const std::int64_t inside = at - turn * period;
    return std::pair(turn, inside < 0 ? -1 : inside >= guard.extent ? 1 : 0);
  };
  for (std::int64_t i = 1; i < extent; ++i) {
    const std::int64_t here = sign * i + guard.coord.offset;
    if (piece(here) != piece(here - sign)) found.insert(i);
  }
  return found;
}

std::optional<Access> settled(const Access& access, int loop, std::int64_t extent, std::int64_t low) {
  Access result = access;
  result.guarded.clear();
  for (const GuardedCoord& guard : access.guarded) {
    if (loop < 0 || !splits(guard, loop)) {
      result.guarded.push_back(guard);
      if (loop < 0 || !whole_steps(guard, loop, extent)) continue;
      std::erase_if(result.guarded.back().coord.terms, [&](const auto& term) { return term.first == loop; });
      result.strides[static_cast<std::size_t>(loop)] += guard.stride;
      continue;
    }
    const std::int64_t sign = guard.coord.terms[0].second;
    std::int64_t offset = guard.coord.offset;
    std::int64_t at = sign * low + offset;
    while (guard.coord.wrap && (at < 0 || at >= *guard.coord.wrap)) {
      const std::int64_t turn = at < 0 ? *guard.coord.wrap : -*guard.coord.wrap;
      at += turn;
      offset += turn;
    }
    if (at < 0 || at >= guard.extent) return std::nullopt;
    result.base += offset * guard.stride;
    result.strides[static_cast<std::size_t>(loop)] += sign * guard.stride;
  }
  return result;
}

std::vector<bool> partial_sums(const std::vector<std::int64_t>& extents, std::int64_t terms) {
  constexpr std::int64_t enough =
      16;  // a judgement: so many terms lose little, and one addition more for them costs little
  std::vector<bool> begins(extents.size(), false);
  for (std::size_t i = extents.size(); i-- > 0;) {
    begins[i] = terms >= enough;
    terms = (begins[i] ? 1 : terms) * extents[i];
  }
  return begins;
}

Access access_of(const NestProgram& program, const Nest& nest, const MemoryPlan& plan, int tensor,
                 const std::vector<BoundCoord>& at) {
  const auto t = static_cast<std::size_t>(tensor);
  const TensorLayout& layout = plan.layouts[t];
  Access access{tensor, layout.element, layout.origin, {}, {}};
  access.strides.assign(nest.loops.size(), 0);
  for (std::size_t a = 0; a < at.size(); ++a) {
    const std::int64_t extent = program.tensors[t].axes[a].extent;
    const auto range = range_of(nest, at[a]);
    const bool stored = range.first >= -layout.low[a] && range.second < extent + layout.high[a];
    if (at[a].wrap || !stored) {
      // A wrapped coordinate lies in 0 .. wrap - 1, which the axis may not cover.
      access.guarded.push_back({at[a], extent, layout.strides[a], !at[a].wrap || *at[a].wrap > extent});
      continue;
    }
    access.base += at[a].offset * layout.strides[a];
    for (const auto& [loop, factor] : at[a].terms)
      access.strides[static_cast<std::size_t>(loop)] += factor * layout.strides[a];
  }
  return access;
}

std::vector<FlatCopy> copies_of(const NestProgram& program, const Nest& nest, const MemoryPlan& plan) {
  std::vector<FlatCopy> copies;
  for (const NestCopy& copy : nest.also)
    copies.push_back(
        {access_of(program, nest, plan, copy.out, copy.out_at), reads_of(program, nest, plan, copy.value)});
  return copies;
}

FlatNest flatten(const NestProgram& program, const Nest& nest, const MemoryPlan& plan) {
  FlatNest flat;
  flat.nest = &nest;
  flat.loops = nest.loops;
  flat.free = nest.free;
  flat.out = access_of(program, nest, plan, nest.out, nest.out_at);
  flat.value = reads_of(program, nest, plan, nest.value);
  flat.epilogue = reads_of(program, nest, plan, nest.epilogue);
  flat.also = copies_of(program, nest, plan);
  for (int loop = static_cast<int>(flat.loops.size()) - 1; loop >= 0; --loop)
    if (flat.loops[static_cast<std::size_t>(loop)].extent == 1) remove_loop(flat, loop);
  while (merge_some(flat)) {
  }
  return flat;
}

}  // namespace kasimir
