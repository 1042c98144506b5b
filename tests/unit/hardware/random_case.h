// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/hardware/evaluate.h"

#include <algorithm>
#include <array>
#include <utility>
#include <vector>

namespace kasimir {

/// Tiny nests, hierarchies and mappings that fit each other.
struct RandomCase {
  Problem problem;
  Architecture architecture;
  Mapping mapping;
};

inline std::vector<std::int64_t> prime_factors(std::int64_t n) {
  std::vector<std::int64_t> factors;
  for (std::int64_t p = 2; n > 1; ++p)
    for (; n % p == 0; n /= p) factors.push_back(p);
  return factors;
}

/// An operand with some of the dimensions, each in one axis; axes of two dimensions slide.
inline Operand random_operand(Rng& rng, const Problem& problem, int t) {
  Operand operand;
  operand.name = fmt::format("T{}", t);
  operand.role = t == 0 ? OperandRole::output : t == 2 ? OperandRole::weight : OperandRole::input;
  const auto dims = static_cast<int>(problem.dims.size());
  std::vector<int> used;
  for (int d = 0; d < dims; ++d)
    if (rng.chance(0.65)) used.push_back(d);
  for (std::size_t i = 0; i < used.size(); ++i) {
    OperandRank rank{{{used[i], 1}}, 0, 1};
    const bool pair = i + 1 < used.size() && rng.chance(0.5);
    if (pair && t == 0) {  // digits: every element of an output is a different point
      rank.terms = {{used[i], problem.dims[static_cast<std::size_t>(used[i + 1])].size}, {used[i + 1], 1}};
      ++i;
    } else if (pair) {
      rank.terms = {{used[i], rng.between(1, 3)}, {used[i + 1], rng.between(1, 3)}};
      ++i;
    } else if (t != 0) {
      rank.terms[0].coefficient = rng.between(1, 2);
    }
    rank.extent = reach(problem, rank);
    operand.ranks.push_back(rank);
  }
  return operand;
}

inline Problem random_problem(Rng& rng) {
  constexpr std::array<std::int64_t, 6> sizes{1, 2, 3, 4, 6, 8};
  while (true) {
    Problem problem;
    const auto dims = static_cast<int>(rng.between(2, 5));
    for (int d = 0; d < dims; ++d) problem.dims.push_back({fmt::format("d{}", d), rng.pick(sizes)});
    if (problem.points() > 400) continue;
    const auto operands = static_cast<int>(rng.between(2, 4));
    for (int t = 0; t < operands; ++t) problem.operands.push_back(random_operand(rng, problem, t));
    bool all_used = true;
    for (int d = 0; d < dims; ++d) {
      bool used = false;
      for (int t = 0; t < operands; ++t) used = used || problem.relevant(t, d);
      all_used = all_used && used;
    }
    if (all_used) return problem;
  }
}

inline Architecture random_architecture(Rng& rng) {
  Architecture architecture;
  architecture.name = "random";
  const auto levels = static_cast<int>(rng.between(1, 4));
  for (int l = 0; l < levels; ++l) {
    MemoryLevel level;
    level.name = fmt::format("m{}", l);
    level.keeps = l == 0 ? all_roles : static_cast<RoleSet>(rng.below(8));
    for (FanOut* fan : {&level.x, &level.y})
      *fan = {.size = 64, .multicast = rng.chance(0.7), .reduction = rng.chance(0.7), .shares = 0};
    architecture.levels.push_back(level);
  }
  return architecture;
}

/// Every prime factor of every size goes to some level, over time or over space.
inline Mapping random_mapping(Rng& rng, const Problem& problem, const Architecture& architecture, double spatial) {
  std::vector<std::vector<std::pair<int, std::int64_t>>> time(architecture.levels.size());
  std::vector<std::vector<std::pair<int, std::int64_t>>> space(architecture.levels.size());
  for (std::size_t d = 0; d < problem.dims.size(); ++d)
    for (const std::int64_t factor : prime_factors(problem.dims[d].size))
      (rng.chance(spatial) ? space : time)[rng.below(architecture.levels.size())].emplace_back(static_cast<int>(d),
                                                                                               factor);
  Mapping mapping = empty_mapping(problem, architecture);
  for (std::size_t l = 0; l < architecture.levels.size(); ++l) {
    for (std::size_t i = time[l].size(); i > 1; --i) std::swap(time[l][i - 1], time[l][rng.below(i)]);
    for (const auto& [dim, bound] : time[l]) mapping.add(dim, bound, static_cast<int>(l));
    for (const auto& [dim, bound] : space[l])
      mapping.add(dim, bound, static_cast<int>(l), rng.chance(0.5) ? LoopKind::spatial_x : LoopKind::spatial_y);
  }
  return mapping;
}

inline RandomCase random_case(Rng& rng, double spatial) {
  RandomCase made;
  made.problem = random_problem(rng);
  made.architecture = random_architecture(rng);
  made.mapping = random_mapping(rng, made.problem, made.architecture, spatial);
  return made;
}

}  // namespace kasimir
