// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_nests.h"

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

/// No two points of the loops are the same element: sorted by stride, each loop steps over all that is inside.
bool reads_once(const FlatNest& nest, const Access& access) {
  std::vector<std::size_t> order(nest.loops.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::ranges::sort(order, {}, [&](std::size_t loop) { return access.strides[loop]; });
  std::int64_t reach = 1;
  for (std::size_t loop : order) {
    if (access.strides[loop] == 0) continue;
    if (access.strides[loop] < reach) return false;
    reach = access.strides[loop] * nest.loops[loop].extent;
  }
  return true;
}

}  // namespace

std::optional<Repacked> repacked_along(const FlatNest& nest, const Access& access, int loop) {
  if (loop < 0 || access.strides[static_cast<std::size_t>(loop)] <= 1 || !access.guarded.empty() ||
      !reads_once(nest, access))
    return std::nullopt;
  Repacked copy{access, access, 1};
  copy.to.base = 0;
  const auto place = [&](std::size_t at) {
    if (access.strides[at] == 0) return;
    copy.to.strides[at] = copy.size;
    copy.size *= nest.loops[at].extent;
  };
  place(static_cast<std::size_t>(loop));
  for (std::size_t at = nest.loops.size(); at-- > 0;)
    if (static_cast<int>(at) != loop) place(at);
  return copy;
}

void write_repacking(CText& text, const std::vector<BoundIter>& loops, const Repacked& copy, const PlaceOf& place) {
  std::vector<std::string> names(loops.size());
  text.open("");
  int opened = 1;
  for (std::size_t at = 0; at < loops.size(); ++at) {
    if (copy.from.strides[at] == 0) continue;
    names[at] = fmt::format("i{}", at);
    text.loop(names[at], loops[at].extent);
    ++opened;
  }
  text.line("*({}) = *({});", address(copy.to, names, place), address(copy.from, names, place));
  for (int i = 0; i < opened; ++i) text.close();
}

}  // namespace kasimir
