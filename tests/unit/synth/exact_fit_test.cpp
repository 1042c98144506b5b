// SPDX-License-Identifier: Apache-2.0
// The exact solver against trying every combination.
#include "kasimir/synth/exact_fit.h"

#include "unit/synth/random_problem.h"

#include <gtest/gtest.h>

#include <functional>
#include <iostream>
#include <optional>

namespace kasimir {
namespace {

using testing::conv_load;
using testing::draw_problem;
using testing::ProblemKind;
using testing::RandomProblem;

constexpr std::uint64_t seed = 47;

/// One dimension of what is tried: a symbol at a site.
struct Axis {
  std::size_t site, symbol;
  std::vector<std::int64_t> values;
};

struct Best {
  bool found = false;
  double use = 0.0;
  double modelled = 0.0;
};

double share(const RandomProblem& random, CostKind kind, std::size_t site, double cost) {
  const double high = random.budget[kind].high * random.replaced(kind, site);
  return std::isinf(high) ? 0.0 : cost / high;
}

double use_at(const RandomProblem& random, std::size_t site, const FreeValues& x) {
  double use = 0.0;
  for (const CostKind kind : all_cost_kinds)
    if (random.budget[kind].relative) use = std::max(use, share(random, kind, site, random.cost(kind, site, x)));
  return use;
}

double use_of_sums(const RandomProblem& random, const std::vector<FreeValues>& x) {
  double use = 0.0;
  for (const CostKind kind : all_cost_kinds)
    if (!random.budget[kind].relative) use = std::max(use, share(random, kind, 0, random.total(kind, x)));
  return use;
}

/// Tries every combination of some sites' lattices.
Best try_all(const RandomProblem& random, const std::vector<std::size_t>& sites, bool sums,
             const std::vector<FreeValues>* floor) {
  std::vector<Axis> axes;
  for (const std::size_t site : sites)
    for (const std::size_t symbol : random.used()) {
      auto values = random.lattice(symbol, site);
      if (floor != nullptr) std::erase_if(values, [&](std::int64_t v) { return v < (*floor)[site][symbol]; });
      axes.push_back({site, symbol, std::move(values)});
    }
  std::vector<FreeValues> x(random.loads.size());
  for (auto& values : x) values.fill(1);
  Best best;
  const auto judge = [&] {
    double mean = 0.0;
    double modelled = 0.0;
    for (const std::size_t site : sites) {
      if (!random.all_whole(site, x[site]) || !random.in_memory(site, x[site]) || !random.below_high(site, x[site]) ||
          !random.above_low(site, x[site]))
        return;
      mean += use_at(random, site, x[site]) / static_cast<double>(sites.size());
      modelled += static_cast<double>(random.loads[site].count) *
                  (random.cost(CostKind::macs, site, x[site]) + random.cost(CostKind::params, site, x[site]));
    }
    if (sums && !(random.totals_below_high(x) && random.totals_above_low(x))) return;
    const double use = sums ? std::max(mean, use_of_sums(random, x)) : mean;
    if (best.found && (use < best.use - 1e-12 || (use <= best.use + 1e-12 && modelled >= best.modelled))) return;
    best = {true, use, modelled};
  };
  const std::function<void(std::size_t)> visit = [&](std::size_t axis) {
    if (axis == axes.size()) return judge();
    for (const std::int64_t value : axes[axis].values) {
      x[axes[axis].site][axes[axis].symbol] = value;
      visit(axis + 1);
    }
  };
  visit(0);
  return best;
}

/// The best values of all sites; `floor`: values that are not undercut.
Best brute_force(const RandomProblem& random, const std::vector<FreeValues>* floor) {
  bool sums = false;
  for (const CostKind kind : all_cost_kinds)
    sums = sums || (random.budget[kind].given() && !random.budget[kind].relative);
  std::vector<std::size_t> all;
  for (std::size_t site = 0; site < random.loads.size(); ++site) all.push_back(site);
  if (sums) return try_all(random, all, true, floor);
  Best sum{true, 0.0, 0.0};
  for (const std::size_t site : all) {
    const Best best = try_all(random, {site}, false, floor);
    if (!best.found) return best;
    sum.use += best.use / static_cast<double>(all.size());
    sum.modelled += best.modelled;
  }
  return sum;
}

struct Tally {
  int problems = 0, solved = 0, better = 0, rescued = 0;
  std::int64_t nodes = 0;
};

void compare(const RandomProblem& random, bool balanced, Tally& tally) {
  FitProblem problem;
  random.fill(problem);
  FitSolution fast;
  const FitFailure fast_failure = problem.solve(random.budget, random.options, fast);
  // Where the fast solver fails at some sites the balance is kept at the others only: not compared here.
  if (balanced && !fast_failure.ok()) return;
  std::vector<FreeValues> floor = fast.common;
  for (auto& values : floor)
    for (const std::size_t symbol : random.used())
      if (!problem.only_rises(symbol)) values[symbol] = 1;
  const Best best = brute_force(random, balanced ? &floor : nullptr);
  const ExactFit exact = exact_fit(problem, random.budget, random.options, {.balanced = balanced});
  ++tally.problems;
  tally.nodes += exact.nodes;
  ASSERT_TRUE(exact.complete);
  ASSERT_EQ(exact.failure.ok(), best.found);
  if (!best.found) {
    EXPECT_FALSE(fast_failure.ok());
    return;
  }
  ++tally.solved;
  EXPECT_NEAR(exact.solution.objective.use, best.use, 1e-11);
  EXPECT_NEAR(exact.solution.objective.modelled, best.modelled, 1e-9 * best.modelled);
  EXPECT_NEAR(exact.bound, best.use, 1e-11);
  if (!fast_failure.ok()) {
    ++tally.rescued;
    return;
  }
  EXPECT_GE(exact.solution.objective.use, fast.objective.use - 1e-11);
  if (exact.solution.objective.use > fast.objective.use + 1e-9) ++tally.better;
}

void compare_many(const ProblemKind& kind, int count, std::uint64_t stream, int wanted) {
  Rng rng(seed, stream);
  Tally tally;
  for (int i = 0; i < count; ++i) {
    SCOPED_TRACE(fmt::format("seed {}, stream {}, problem {}", seed, stream, i));
    const RandomProblem random = draw_problem(kind, rng);
    compare(random, i % 2 == 1, tally);
    if (::testing::Test::HasFailure()) return;
  }
  std::cout << "seed " << seed << ": " << tally.solved << " of " << tally.problems << " have a solution, "
            << tally.better << " better than the fast one, " << tally.rescued << " where that failed; " << tally.nodes
            << " nodes\n";
  EXPECT_GE(tally.solved, wanted);
}

TEST(ExactFit, IsBruteForceForOneSymbol) { compare_many({.sites = 3, .symbols = 1, .widest = 32}, 300, 1, 50); }

TEST(ExactFit, IsBruteForceForTwoSymbols) { compare_many({.sites = 2, .symbols = 2, .widest = 16}, 300, 2, 50); }

TEST(ExactFit, IsBruteForceForThreeSymbols) { compare_many({.sites = 1, .symbols = 3, .widest = 8}, 200, 3, 30); }

TEST(ExactFit, IsBruteForceWithNegativePowers) {
  compare_many({.sites = 2, .symbols = 2, .widest = 16, .negative = true}, 400, 4, 50);
}

TEST(ExactFit, IsBruteForceWithLimitsOnTheSum) {
  compare_many({.sites = 3, .symbols = 1, .widest = 8, .absolute = true}, 200, 5, 30);
  compare_many({.sites = 2, .symbols = 1, .widest = 32, .negative = true, .absolute = true}, 200, 6, 30);
}

TEST(ExactFit, SolvesWhatTheFastSolverMisses) {
  // 320 parameters for each channel, but many MACs for x0 * x1 only: both must be wide at once, x2 narrow.
  FitProblem problem;
  const SiteLoad load = conv_load({64, 64, 8, 8, 1});
  problem.set_sites({&load, 1});
  problem.reset(7);
  for (const Powers& powers : {Powers{1}, Powers{0, 1}, Powers{0, 0, 1}})
    problem.add_params(powers, std::vector<double>{320});
  problem.add_macs({1, 1}, std::vector<double>{3200});
  const Budget budget = Budget::parse("macs=0.95..1,params=..0.5");
  const SolverOptions any_width{.lane = 1};
  FitSolution fast;
  const FitFailure failure = problem.solve(budget, any_width, fast);
  EXPECT_EQ(explain(failure, budget, {&load, 1}, any_width).rule, "budget: macs at least 0.95");
  const ExactFit exact = exact_fit(problem, budget, any_width);
  ASSERT_TRUE(exact.failure.ok());
  EXPECT_TRUE(exact.complete);
  EXPECT_GE(exact.solution.at(CostKind::macs, 0), 0.95 * load.macs);
  EXPECT_LE(exact.solution.at(CostKind::params, 0), 0.5 * load.params);
}

TEST(ExactFit, ProvesThatThereIsNothing) {
  FitProblem problem;
  const SiteLoad load = conv_load({64, 64, 8, 8, 1});
  problem.set_sites({&load, 1});
  problem.reset(3);
  for (const Powers& powers : {Powers{1}, Powers{0, 1}}) {
    problem.add_params(powers, std::vector<double>{320});
    problem.add_macs(powers, std::vector<double>{320});
  }
  const Budget budget = Budget::parse("macs=0.5..1,params=..0.5");
  const ExactFit exact = exact_fit(problem, budget, {});
  EXPECT_TRUE(exact.complete);
  EXPECT_EQ(explain(exact.failure, budget, {&load, 1}, {}).str(),
            "budget: macs at least 0.5 (0.00773 at Ci=64 Co=64 H=8 W=8 s=1)");
}

TEST(ExactFit, CertifiesWhatIsLeftWhenItStops) {
  Rng rng(seed, 9);
  int stopped = 0;
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(fmt::format("seed {}, problem {}", seed, i));
    const RandomProblem random = draw_problem({.sites = 2, .symbols = 3, .widest = 64, .absolute = i % 2 == 0}, rng);
    FitProblem problem;
    random.fill(problem);
    const ExactFit best = exact_fit(problem, random.budget, random.options, {.most_nodes = 20'000, .balanced = false});
    const ExactFit close = exact_fit(problem, random.budget, random.options, {.gap = 0.02, .balanced = false});
    const ExactFit some = exact_fit(problem, random.budget, random.options, {.most_nodes = 8, .balanced = false});
    EXPECT_LE(some.nodes, 8);
    if (!best.failure.ok() || !best.complete) continue;
    const double use = best.solution.objective.use;
    EXPECT_NEAR(best.bound, use, 1e-11);
    EXPECT_TRUE(close.complete);
    EXPECT_GE(close.solution.objective.use, use - 0.02 - 1e-11);
    EXPECT_GE(close.bound, use - 1e-11);
    EXPECT_LE(close.bound, close.solution.objective.use + 0.02 + 1e-11);
    EXPECT_LE(close.nodes, best.nodes);
    if (some.complete || !some.failure.ok()) continue;
    ++stopped;
    EXPECT_GE(some.bound, use - 1e-11);
    EXPECT_LE(some.solution.objective.use, use + 1e-11);
  }
  std::cout << "seed " << seed << ": " << stopped << " stopped early\n";
  EXPECT_GT(stopped, 10);
}

TEST(ExactFit, KeepsTheBalance) {
  Rng rng(seed, 10);
  int compared = 0;
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(fmt::format("seed {}, problem {}", seed, i));
    const RandomProblem random = draw_problem({.sites = 3, .symbols = 2, .lower = false, .joint = false}, rng);
    FitProblem problem;
    random.fill(problem);
    const ExactFit exact = exact_fit(problem, random.budget, random.options);
    if (!exact.failure.ok()) continue;
    for (std::size_t site = 0; site < random.loads.size(); ++site)
      for (const std::size_t symbol : random.used()) {
        ++compared;
        EXPECT_GE(exact.solution.values[site][symbol], exact.solution.common[site][symbol]);
      }
  }
  EXPECT_GT(compared, 300);
}

TEST(ExactFit, OnlyChecksWithoutSymbols) {
  FitProblem problem;
  const SiteLoad load = conv_load({64, 64, 8, 8, 1});
  problem.set_sites({&load, 1});
  problem.reset(0);
  problem.add_params({}, std::vector<double>{load.params * 0.75});
  const ExactFit exact = exact_fit(problem, Budget::parse("params=..1"), {});
  EXPECT_TRUE(exact.failure.ok());
  EXPECT_TRUE(exact.complete);
  EXPECT_EQ(exact.bound, 0.75);
  EXPECT_EQ(exact.nodes, 0);
}

}  // namespace
}  // namespace kasimir
