// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/field_tables.h"

#include "kasimir/base/rng.h"
#include "kasimir/interp/field_arithmetic.h"

#include <algorithm>

namespace kasimir {
namespace {

std::vector<std::uint32_t> make_factors(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                                        const std::vector<int>& order, std::size_t repeated, std::uint32_t key) {
  std::vector<std::uint32_t> factors(
      static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(read.tensor)])) + field_slack);
  std::size_t repeats = 1;
  for (std::size_t i = order.size() - repeated; i < order.size(); ++i)
    repeats *= static_cast<std::size_t>(stage.iters[static_cast<std::size_t>(order[i])].extent);
  const std::uint32_t share = field::inverse(static_cast<std::uint32_t>(repeats % field::prime));
  // A row is either within one point of the first iterators, or has one of them per element.
  const FieldWalk walk = field_walk(graph, stage, read, order, repeated == 0 ? order.size() : repeated);
  std::size_t point = 0;
  for (const FieldRow& row : walk.rows) {
    std::uint32_t* factor = factors.data() + row.from;
    std::uint32_t drawn = 0;
    for (std::size_t i = row.first; i < row.last; ++i, factor += walk.stride) {
      if (i == row.first || repeats == 1)
        drawn = field::multiply(field::coefficient(static_cast<std::uint32_t>((point + i) / repeats), key), share);
      *factor = field::plus(*factor, drawn);
    }
    point += walk.length;
  }
  return factors;
}

}  // namespace

/// What field_walk() depends on, in two independent hashes. Iterators count by their places in the order.
FieldTables::Key FieldTables::key(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                                  const std::vector<int>& order, std::uint64_t use) {
  Key key{mix_bits(use), use};
  const auto add = [&](auto value) {
    key.high = mix_bits(key.high ^ static_cast<std::uint64_t>(value));
    key.low = mix_bits(key.low + static_cast<std::uint64_t>(value) * 0x9E3779B97F4A7C15ULL);
  };
  add(order.size());
  for (const int iter : order) add(stage.iters[static_cast<std::size_t>(iter)].extent);
  const auto& axes = graph.tensors[static_cast<std::size_t>(read.tensor)].axes;
  for (std::size_t a = 0; a < read.at.size(); ++a) {
    const BoundCoord& coord = read.at[a];
    add(axes[a].extent);
    add(coord.offset);
    add(coord.wrap.value_or(0));
    for (const auto& [iter, factor] : coord.terms) {
      const auto place = std::ranges::find(order, iter) - order.begin();
      if (place == std::ssize(order) || factor == 0) continue;
      add(place + 1);
      add(factor);
    }
    add(0);
  }
  return key;
}

FieldTables::Walk FieldTables::walk(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                                    const std::vector<int>& order, std::size_t mergeable) {
  const auto [found, fresh] = walks_.try_emplace(key(graph, stage, read, order, mergeable), nullptr);
  if (fresh) {
    found.value() = std::make_shared<const FieldWalk>(field_walk(graph, stage, read, order, mergeable));
    bytes_ += found->second->rows.size() * sizeof(FieldRow);
  }
  return found->second;
}

FieldTables::Factors FieldTables::factors(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                                          const std::vector<int>& order, std::size_t repeated, std::uint32_t salt) {
  const std::uint64_t use = static_cast<std::uint64_t>(salt) << 8U | repeated;
  const auto [found, fresh] = factors_.try_emplace(key(graph, stage, read, order, use), nullptr);
  if (fresh) {
    found.value() =
        std::make_shared<const std::vector<std::uint32_t>>(make_factors(graph, stage, read, order, repeated, salt));
    bytes_ += found->second->size() * sizeof(std::uint32_t);
  }
  return found->second;
}

}  // namespace kasimir
