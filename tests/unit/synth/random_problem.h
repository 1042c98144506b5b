// SPDX-License-Identifier: Apache-2.0
// Random problems for the budget solvers, and the slow and obvious reading of what they ask for.
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/synth/fitter.h"
#include "unit/synth/loads.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <string>

namespace kasimir::testing {

struct RandomProblem {
  struct Term {
    Powers powers;
    std::vector<double> factor;
  };
  struct Whole {
    Powers powers;
    std::vector<std::int64_t> num, den;
  };
  std::vector<SiteLoad> loads;
  std::uint8_t symbols = 0;
  std::array<std::vector<Term>, cost_kinds> costs;
  std::vector<Term> volumes;
  std::vector<Whole> wholes;
  Budget budget;
  /// Values on the lane only, and each site on its own, so that the lattices are what is written here.
  SolverOptions options{.enough_use = 0.0, .most_imbalance = std::numeric_limits<double>::infinity()};

  void fill(FitProblem& problem) const {
    problem.set_sites(loads);
    problem.reset(symbols);
    for (const CostKind kind : all_cost_kinds)
      for (const Term& term : costs[static_cast<std::size_t>(kind)]) problem.add_cost(kind, term.powers, term.factor);
    for (const Term& term : volumes) problem.limit_volume(term.powers, term.factor);
    for (const Whole& whole : wholes) problem.require_whole(whole.powers, whole.num, whole.den);
  }

  static double value(const Term& term, std::size_t site, const FreeValues& x) {
    double product = term.factor[site];
    for (std::size_t i = 0; i < x.size(); ++i) product *= std::pow(static_cast<double>(x[i]), term.powers[i]);
    return product;
  }
  [[nodiscard]] double cost(CostKind kind, std::size_t site, const FreeValues& x) const {
    double sum = 0.0;
    for (const Term& term : costs[static_cast<std::size_t>(kind)]) sum += value(term, site, x);
    return sum;
  }
  [[nodiscard]] double replaced(CostKind kind, std::size_t site) const {
    const SiteLoad& load = loads[site];
    if (!budget[kind].relative) return 1.0;
    if (kind == CostKind::macs) return load.macs;
    return kind == CostKind::params ? load.params : 4.0 * static_cast<double>(load.site.co * load.site.h * load.site.w);
  }
  static bool is_whole(const Whole& whole, std::size_t site, const FreeValues& x) {
    Rational size(whole.num[site], whole.den[site]);
    for (std::size_t i = 0; i < x.size(); ++i)
      for (int p = 0; p < std::abs(whole.powers[i]); ++p)
        size = whole.powers[i] > 0 ? size * Rational(x[i]) : size / Rational(x[i]);
    return size.whole() && size.num() >= 1;
  }
  [[nodiscard]] bool all_whole(std::size_t site, const FreeValues& x) const {
    return std::ranges::all_of(wholes, [&](const Whole& whole) { return is_whole(whole, site, x); });
  }
  [[nodiscard]] bool in_memory(std::size_t site, const FreeValues& x) const {
    return std::ranges::all_of(volumes, [&](const Term& volume) {
      return value(volume, site, x) <= static_cast<double>(options.most_elements) * (1 + 1e-12);
    });
  }
  [[nodiscard]] bool below_high(std::size_t site, const FreeValues& x) const {
    return std::ranges::all_of(all_cost_kinds, [&](CostKind kind) {
      const Limit& limit = budget[kind];
      return !limit.relative || std::isinf(limit.high) ||
             cost(kind, site, x) <= limit.high * replaced(kind, site) * (1 + 2e-12);
    });
  }
  [[nodiscard]] bool above_low(std::size_t site, const FreeValues& x) const {
    return std::ranges::all_of(all_cost_kinds, [&](CostKind kind) {
      const Limit& limit = budget[kind];
      return !limit.relative || cost(kind, site, x) >= limit.low * replaced(kind, site) * (1 - 2e-12);
    });
  }
  [[nodiscard]] double total(CostKind kind, const std::vector<FreeValues>& x) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < loads.size(); ++i) sum += static_cast<double>(loads[i].count) * cost(kind, i, x[i]);
    return sum;
  }
  [[nodiscard]] bool totals_below_high(const std::vector<FreeValues>& x) const {
    return std::ranges::all_of(all_cost_kinds, [&](CostKind kind) {
      return budget[kind].relative || total(kind, x) <= budget[kind].high * (1 + 2e-12);
    });
  }
  [[nodiscard]] bool totals_above_low(const std::vector<FreeValues>& x) const {
    return std::ranges::all_of(all_cost_kinds, [&](CostKind kind) {
      return budget[kind].relative || total(kind, x) >= budget[kind].low * (1 - 2e-12);
    });
  }
  [[nodiscard]] std::vector<std::size_t> used() const {
    std::vector<std::size_t> all;
    for (std::size_t i = 0; i < free_symbol_count; ++i)
      if ((symbols >> i & 1U) != 0) all.push_back(i);
    return all;
  }

  /// The lattice of a symbol at a site as its definition says, by trying every number.
  [[nodiscard]] std::vector<std::int64_t> lattice(std::size_t symbol, std::size_t site) const {
    const std::int64_t widest = 4 * std::max(loads[site].site.ci, loads[site].site.co);
    const auto alone = [&](const Powers& powers) {
      for (std::size_t i = 0; i < powers.size(); ++i)
        if ((powers[i] != 0) != (i == symbol)) return false;
      return true;
    };
    std::vector<std::int64_t> values;
    for (std::int64_t v = 1; v <= 2 * widest; ++v) {
      FreeValues x;
      x.fill(1);
      x[symbol] = v;
      const bool whole = std::ranges::all_of(
          wholes, [&](const Whole& size) { return !alone(size.powers) || is_whole(size, site, x); });
      if (whole && (v <= widest || values.empty())) values.push_back(v);
    }
    std::vector<std::int64_t> kept;
    bool lane_seen = false;
    for (const std::int64_t v : values) {
      FreeValues x;
      x.fill(1);
      x[symbol] = v;
      const bool fits = std::ranges::all_of(volumes, [&](const Term& volume) {
        return !alone(volume.powers) || volume.powers[symbol] != 1 ||
               value(volume, site, x) <= static_cast<double>(options.most_elements);
      });
      const bool on_lane = v % options.lane == 0;
      if (fits && (on_lane || !lane_seen)) kept.push_back(v);
      lane_seen = lane_seen || on_lane;
    }
    return kept;
  }
};

struct ProblemKind {
  std::size_t sites = 3;
  int symbols = 2;
  std::int64_t widest = 64;  ///< of channels
  bool negative = false;     ///< some powers are negative
  bool absolute = false;     ///< some limit is on the sum
  bool lower = true;         ///< some limit has a lower bound
  bool joint = true;         ///< some sizes have two symbols
};

inline Powers draw_powers(const ProblemKind& kind, Rng& rng) {
  Powers powers{};
  const auto n = static_cast<std::uint64_t>(kind.symbols);
  powers[rng.below(n)] = 1;
  if (rng.chance(0.3)) ++powers[rng.below(n)];
  if (kind.negative && rng.chance(0.4)) --powers[rng.below(n)];
  return powers;
}

inline RandomProblem::Whole draw_whole(const RandomProblem& problem, const ProblemKind& kind, Rng& rng) {
  RandomProblem::Whole whole{};
  whole.powers[rng.below(static_cast<std::uint64_t>(kind.symbols))] = 1;
  if (kind.joint && rng.chance(0.15)) whole.powers[rng.below(static_cast<std::uint64_t>(kind.symbols))] = -1;
  const bool divides = rng.chance(0.15);
  if (divides)
    for (auto& power : whole.powers) power = static_cast<std::int8_t>(-power);
  const std::int64_t den = std::int64_t{1} << rng.below(3);
  for (const SiteLoad& load : problem.loads) {
    whole.num.push_back(divides ? 4 * load.site.co : 1);
    whole.den.push_back(divides ? 1 : rng.chance(0.1) ? 3 * den : den);
  }
  return whole;
}

inline Limit draw_limit(const ProblemKind& kind, double scale, Rng& rng) {
  Limit limit;
  const double high = std::exp(std::log(0.02) + rng.unit() * std::log(100.0));
  limit.high = rng.chance(0.1) ? limit.high : high;
  if (kind.lower && rng.chance(0.4)) limit.low = high * (0.2 + 0.75 * rng.unit());
  if (kind.absolute && rng.chance(0.6)) {
    limit.relative = false;
    limit.low *= scale;
    limit.high *= scale;
  }
  return limit;
}

inline RandomProblem draw_problem(const ProblemKind& kind, Rng& rng) {
  RandomProblem problem;
  problem.symbols = static_cast<std::uint8_t>((1U << kind.symbols) - 1);
  problem.options.lane = std::int64_t{1} << rng.below(6);
  double scale = 0.0;
  for (std::size_t i = 0; i < kind.sites; ++i) {
    const std::int64_t ci = 8 * rng.between(1, kind.widest / 8);
    const std::int64_t co = rng.chance(0.5) ? ci : 8 * rng.between(1, kind.widest / 8);
    problem.loads.push_back(conv_load({ci, co, rng.between(2, 9), rng.between(2, 9), 1}, rng.between(1, 3)));
    scale += problem.loads.back().macs * static_cast<double>(problem.loads.back().count);
  }
  const auto term = [&](const Powers& powers, auto per_site) {
    RandomProblem::Term made{powers, {}};
    for (const SiteLoad& load : problem.loads) made.factor.push_back(per_site(load.site));
    return made;
  };
  for (std::int64_t n = rng.between(1, 4); n > 0; --n) {
    const Powers powers = draw_powers(kind, rng);
    constexpr std::array windows{1.0, 1.0, 3.0, 9.0};
    constexpr std::array reuses{0.1, 0.5, 1.0, 1.0, 4.0};
    const double window = rng.pick(windows);
    const double reuse = rng.pick(reuses);  // of a weight: how the MACs of a term differ from its parameters
    int degree = 0;
    for (const int power : powers) degree += power;
    const auto size = [&](const Site& s) {
      return window * std::pow(static_cast<double>(s.co), 2 - std::max(degree, 0));
    };
    problem.costs[1].push_back(term(powers, size));
    problem.costs[0].push_back(
        term(powers, [&](const Site& s) { return reuse * size(s) * static_cast<double>(s.h * s.w); }));
  }
  if (rng.chance(0.7))
    problem.costs[0].push_back(term({}, [](const Site& s) { return 20.0 * static_cast<double>(s.co); }));
  for (std::int64_t n = rng.between(0, 2); n > 0; --n)
    problem.costs[2].push_back(
        term(draw_powers(kind, rng), [](const Site& s) { return 4.0 * static_cast<double>(s.h * s.w); }));
  for (std::int64_t n = rng.between(0, 2); n > 0; --n)
    problem.volumes.push_back(
        term(draw_powers(kind, rng), [](const Site& s) { return static_cast<double>(s.h * s.w); }));
  problem.options.most_elements = rng.between(1 << 8, 1 << 15);
  for (std::int64_t n = rng.between(0, 2); n > 0; --n) problem.wholes.push_back(draw_whole(problem, kind, rng));
  problem.budget.macs = draw_limit(kind, scale, rng);
  problem.budget.params = draw_limit(kind, scale / 20, rng);
  if (rng.chance(0.3)) problem.budget.bytes = draw_limit(kind, scale / 20, rng);
  return problem;
}

}  // namespace kasimir::testing
