// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/fitter.h"

#include "support/thrown.h"
#include "unit/synth/by_hand.h"
#include "unit/synth/random_problem.h"

#include <gtest/gtest.h>

#include <iostream>

namespace kasimir {
namespace {

using testing::ByHand;
using testing::conv_load;
using testing::draw_problem;
using testing::ProblemKind;
using testing::RandomProblem;
using Why = FitFailure::Why;

constexpr std::uint64_t seed = 31;

struct Solved {
  FitProblem problem;
  FitSolution solution;
  FitFailure failure;
};

Solved solve(const RandomProblem& random) {
  Solved solved;
  random.fill(solved.problem);
  solved.failure = solved.problem.solve(random.budget, random.options, solved.solution);
  return solved;
}

/// Everything that a solution claims, by the slow reading.
void expect_legal(const RandomProblem& random, const FitSolution& solution) {
  for (std::size_t site = 0; site < random.loads.size(); ++site) {
    const FreeValues& x = solution.values[site];
    EXPECT_TRUE(random.all_whole(site, x)) << "site " << site;
    EXPECT_TRUE(random.in_memory(site, x)) << "site " << site;
    EXPECT_TRUE(random.below_high(site, x)) << "site " << site;
    EXPECT_TRUE(random.above_low(site, x)) << "site " << site;
    for (const CostKind kind : all_cost_kinds) {
      const double cost = random.cost(kind, site, x);
      EXPECT_NEAR(solution.at(kind, site), cost, 1e-9 * cost) << cost_name(kind);
    }
    for (const std::size_t symbol : random.used()) {
      const auto lattice = random.lattice(symbol, site);
      EXPECT_TRUE(std::ranges::find(lattice, x[symbol]) != lattice.end()) << "x" << symbol << " = " << x[symbol];
    }
  }
  EXPECT_TRUE(random.totals_below_high(solution.values));
  EXPECT_TRUE(random.totals_above_low(solution.values));
}

TEST(FitProblem, FindsLegalValuesWithinTheBudget) {
  int found = 0;
  int all = 0;
  for (const bool absolute : {false, true})
    for (const bool negative : {false, true})
      for (const int symbols : {1, 2, 3}) {
        Rng rng(seed, static_cast<std::uint64_t>(symbols) + (negative ? 10 : 0) + (absolute ? 20 : 0));
        for (int i = 0; i < 400; ++i, ++all) {
          SCOPED_TRACE(fmt::format("seed {}, {} symbols, negative {}, absolute {}, problem {}", seed, symbols, negative,
                                   absolute, i));
          const RandomProblem random = draw_problem(
              {.sites = 1 + rng.below(10), .symbols = symbols, .negative = negative, .absolute = absolute}, rng);
          const Solved solved = solve(random);
          if (!solved.failure.ok()) continue;
          ++found;
          expect_legal(random, solved.solution);
        }
      }
  std::cout << "seed " << seed << ": " << found << " of " << all << " problems solved\n";
  EXPECT_GT(found, all / 8);
}

/// Whether the upper limits are kept with one value changed.
bool fits_with(const RandomProblem& random, std::vector<FreeValues> values, std::size_t site, std::size_t symbol,
               std::int64_t value) {
  values[site][symbol] = value;
  return random.all_whole(site, values[site]) && random.in_memory(site, values[site]) &&
         random.below_high(site, values[site]) && random.totals_below_high(values);
}

TEST(FitProblem, LeavesNoValueThatCouldBeRaised) {
  int checked = 0;
  for (const bool absolute : {false, true}) {
    Rng rng(seed, absolute ? 101 : 100);
    for (int i = 0; i < 400; ++i) {
      SCOPED_TRACE(fmt::format("seed {}, absolute {}, problem {}", seed, absolute, i));
      const RandomProblem random = draw_problem({.sites = 4, .symbols = 2, .absolute = absolute, .lower = false}, rng);
      const Solved solved = solve(random);
      if (!solved.failure.ok()) continue;
      for (std::size_t site = 0; site < random.loads.size(); ++site)
        for (const std::size_t symbol : random.used())
          for (const std::int64_t value : random.lattice(symbol, site)) {
            if (value <= solved.solution.values[site][symbol]) continue;
            ++checked;
            EXPECT_FALSE(fits_with(random, solved.solution.values, site, symbol, value))
                << "x" << symbol << " could be " << value << " at site " << site;
          }
    }
  }
  std::cout << "seed " << seed << ": " << checked << " values tried\n";
  EXPECT_GT(checked, 1000);
}

/// The largest value of the lattice up to `aim`, or its least.
std::int64_t at_most(const std::vector<std::int64_t>& lattice, double aim) {
  std::int64_t value = lattice.front();
  for (const std::int64_t v : lattice)
    if (static_cast<double>(v) <= aim) value = v;
  return value;
}

TEST(FitProblem, BeginsAtTheLargestCommonRatio) {
  int checked = 0;
  Rng rng(seed, 200);
  for (int i = 0; i < 300; ++i) {
    SCOPED_TRACE(fmt::format("seed {}, problem {}", seed, i));
    const RandomProblem random = draw_problem({.symbols = 3, .lower = false, .joint = false}, rng);
    const Solved solved = solve(random);
    if (!solved.failure.ok()) continue;
    for (std::size_t site = 0; site < random.loads.size(); ++site) {
      std::array<std::vector<std::int64_t>, free_symbol_count> lattice;
      for (const std::size_t symbol : random.used()) lattice[symbol] = random.lattice(symbol, site);
      const auto placed = [&](double ratio) {
        FreeValues x;
        x.fill(1);
        for (const std::size_t symbol : random.used())
          x[symbol] = at_most(lattice[symbol], ratio * static_cast<double>(random.loads[site].site.co));
        return x;
      };
      double largest = 0.0;
      for (double ratio = 1e-3; ratio < 40; ratio *= 1.01)
        if (const auto x = placed(ratio); random.in_memory(site, x) && random.below_high(site, x)) largest = ratio;
      const FreeValues wanted = placed(largest / 1.05);
      for (const std::size_t symbol : random.used()) {
        ++checked;
        EXPECT_GE(solved.solution.common[site][symbol], wanted[symbol]) << "x" << symbol << " at site " << site;
        EXPECT_GE(solved.solution.values[site][symbol], solved.solution.common[site][symbol]);
      }
    }
  }
  std::cout << "seed " << seed << ": " << checked << " values compared\n";
  EXPECT_GT(checked, 500);
}

TEST(FitProblem, FindsValuesWhereverTheLeastCostFits) {
  // Symbols that only rise and symbols that only fall: the cheapest point is a corner, so that failure is a proof.
  int failed = 0;
  int solved_ones = 0;
  Rng rng(seed, 300);
  for (int i = 0; i < 600; ++i) {
    SCOPED_TRACE(fmt::format("seed {}, problem {}", seed, i));
    RandomProblem random = draw_problem({.symbols = 2, .lower = false, .joint = false}, rng);
    const bool falling = rng.chance(0.5);
    const auto flip = [&](std::vector<RandomProblem::Term>& terms) {
      for (auto& term : terms)
        if (falling && term.powers[1] != 0) {
          term.powers[1] = static_cast<std::int8_t>(-term.powers[1]);
          for (double& factor : term.factor) factor *= 64;
        }
    };
    for (auto& terms : random.costs) flip(terms);
    flip(random.volumes);
    bool possible = true;
    for (std::size_t site = 0; site < random.loads.size(); ++site) {
      const auto x0 = random.lattice(0, site);
      const auto x1 = random.lattice(1, site);
      possible = possible && !x0.empty() && !x1.empty();
      if (!possible) break;
      FreeValues x;
      x.fill(1);
      x[0] = x0.front();
      x[1] = falling ? x1.back() : x1.front();
      possible = random.all_whole(site, x) && random.in_memory(site, x) && random.below_high(site, x);
    }
    const Solved solved = solve(random);
    EXPECT_EQ(solved.failure.ok(), possible);
    ++(possible ? solved_ones : failed);
  }
  std::cout << "seed " << seed << ": " << solved_ones << " solved, " << failed << " impossible\n";
  EXPECT_GT(solved_ones, 100);
  EXPECT_GT(failed, 100);
}

TEST(FitProblem, GivesASiteTheSameValuesWhereverItStands) {
  Rng rng(seed, 400);
  int compared = 0;
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(fmt::format("seed {}, problem {}", seed, i));
    const RandomProblem random = draw_problem({.sites = 13, .symbols = 2, .negative = i % 2 == 0}, rng);
    const Solved solved = solve(random);
    if (!solved.failure.ok()) continue;
    for (const std::size_t site : {0, 7, 8, 12}) {
      RandomProblem alone = random;
      alone.loads = {random.loads[site]};
      const auto keep = [&](auto& row) { row = {row[site]}; };
      for (auto& terms : alone.costs)
        for (auto& term : terms) keep(term.factor);
      for (auto& term : alone.volumes) keep(term.factor);
      for (auto& whole : alone.wholes) {
        keep(whole.num);
        keep(whole.den);
      }
      const Solved one = solve(alone);
      ASSERT_TRUE(one.failure.ok());
      ++compared;
      EXPECT_EQ(one.solution.values[0], solved.solution.values[site]);
    }
  }
  EXPECT_GT(compared, 40);
}

TEST(FitProblem, SolvesSixtyFourSites) {
  Rng rng(seed, 500);
  int found = 0;
  for (int i = 0; i < 200 && found < 5; ++i) {
    const RandomProblem random =
        draw_problem({.sites = 64, .symbols = 2, .absolute = i % 2 == 0, .lower = false, .joint = false}, rng);
    const Solved solved = solve(random);
    if (!solved.failure.ok()) continue;
    ++found;
    expect_legal(random, solved.solution);
  }
  EXPECT_EQ(found, 5);
}

TEST(FitProblem, IsTheSameAfterOtherKernels) {
  Rng rng(seed, 600);
  FitProblem reused;
  FitSolution solution;
  for (int i = 0; i < 200; ++i) {
    SCOPED_TRACE(fmt::format("seed {}, problem {}", seed, i));
    const RandomProblem random = draw_problem({.sites = 1 + rng.below(10),
                                               .symbols = static_cast<int>(1 + rng.below(3)),
                                               .negative = i % 3 == 0,
                                               .absolute = i % 2 == 0},
                                              rng);
    random.fill(reused);
    const FitFailure failure = reused.solve(random.budget, random.options, solution);
    const Solved fresh = solve(random);
    EXPECT_EQ(failure.why, fresh.failure.why);
    if (failure.ok()) {
      EXPECT_EQ(solution.values, fresh.solution.values);
    }
  }
}

TEST(Lattices, AreWhatTheirDefinitionSays) {
  Rng rng(seed, 700);
  int compared = 0;
  for (int i = 0; i < 150; ++i) {
    SCOPED_TRACE(fmt::format("seed {}, problem {}", seed, i));
    const RandomProblem random = draw_problem({.sites = 9, .symbols = 2}, rng);
    const Solved solved = solve(random);
    if (solved.failure.why == Why::no_value || solved.failure.why == Why::memory) continue;
    std::vector<std::int64_t> values;
    for (std::size_t site = 0; site < random.loads.size(); ++site)
      for (const std::size_t symbol : random.used()) {
        ++compared;
        solved.problem.lattices().list(symbol, site, values);
        EXPECT_EQ(values, random.lattice(symbol, site)) << "x" << symbol << " at site " << site;
      }
  }
  EXPECT_GT(compared, 500);
}

// --- by hand ------------------------------------------------------------------------------------------------------

using testing::one;
using testing::plain;
using testing::x0;
using testing::x1;

TEST(FitProblem, PutsValuesOnLanesAsFarAsTheyFit) {
  for (const std::int64_t lane : {1, 8, 16, 32}) {
    ByHand hand({plain});
    hand.cost(CostKind::params, x0, 640);
    EXPECT_EQ(hand.solve("params=..0.5", {.lane = lane, .enough_use = 0.0}), "solved");  // 28.8
    EXPECT_EQ(hand.x(0), lane == 1 ? 28 : lane == 8 ? 24 : lane == 16 ? 16 : 28) << lane;
  }
}

TEST(FitProblem, TakesTheSmallestMultipleOfTheLaneAndOfWhatSizesAsk) {
  ByHand hand({plain});
  hand.cost(CostKind::params, x0, 640);
  hand.whole(x0, 1, 3);
  const SolverOptions on_lane{.enough_use = 0.0};
  EXPECT_EQ(hand.solve("params=..0.5", on_lane), "solved");
  EXPECT_EQ(hand.x(0), 24);
  EXPECT_EQ(hand.solve("params=..0.4", on_lane), "solved");  // 23.04
  EXPECT_EQ(hand.x(0), 21);
}

TEST(FitProblem, TakesDivisorsOnly) {
  ByHand hand({plain});
  hand.cost(CostKind::params, x0, 640);
  hand.whole({-1}, 60, 1);
  EXPECT_EQ(hand.solve("params=..0.5", {.lane = 1}), "solved");  // 28.8
  EXPECT_EQ(hand.x(0), 20);
  EXPECT_EQ(hand.solve("params=..0.5", {.lane = 4}), "solved");
  EXPECT_EQ(hand.x(0), 20);
  EXPECT_EQ(hand.solve("params=..0.18", {.lane = 4}), "solved");  // 10.4
  EXPECT_EQ(hand.x(0), 4);                                        // 5, 6 and 10 are above the first multiple of 4
}

TEST(FitProblem, KeepsPowersAndQuotientsOfSymbolsWhole) {
  ByHand square({plain});
  square.cost(CostKind::params, x0, 640);
  square.whole({2}, 1, 12);
  EXPECT_EQ(square.solve("params=..0.5", {.lane = 1}), "solved");
  EXPECT_EQ(square.x(0), 24);  // a multiple of 6
  ByHand quotient({plain}, 3);
  quotient.cost(CostKind::params, x0, 100);
  quotient.cost(CostKind::params, x1, 100);
  quotient.whole({1, -1}, 1, 1);
  EXPECT_EQ(quotient.solve("params=..0.5", {.lane = 1}), "solved");  // 184 in all
  EXPECT_EQ(quotient.x(0) % quotient.x(1), 0);
  EXPECT_GE(quotient.x(0) + quotient.x(1), 180);
}

TEST(FitProblem, LowersASymbolThatOnlyDividesCosts) {
  ByHand hand({plain});
  hand.cost(CostKind::params, {-1}, 36'864);  // a grouped convolution
  hand.whole({-1}, 64, 1);
  EXPECT_EQ(hand.solve("params=..0.2", {.lane = 1}), "solved");
  EXPECT_EQ(hand.x(0), 8);
  EXPECT_EQ(hand.solve("params=..0.001", {.lane = 1}),
            "budget: params at most 0.001 (0.0156 at Ci=64 Co=64 H=8 W=8 s=1)");
}

TEST(FitProblem, SharesALimitOnTheSumInProportionToCo) {
  ByHand hand({conv_load({64, 64, 8, 8, 1}, 3), conv_load({128, 128, 4, 4, 1}), conv_load({32, 32, 16, 16, 1}, 2)}, 3);
  hand.cost(CostKind::params, x0, 100);
  hand.cost(CostKind::params, x1, 30);
  EXPECT_EQ(hand.solve("macs=..,params=..60k"), "solved");
  EXPECT_LE(hand.solution.total[1], 60e3);
  EXPECT_GT(hand.solution.total[1], 59e3);
  EXPECT_NEAR(hand.solution.objective.use, hand.solution.total[1] / 60e3, 1e-12);
  for (std::size_t site = 0; site < 3; ++site)
    for (const std::size_t symbol : {0U, 1U}) {
      const auto co = static_cast<double>(hand.loads[site].site.co);
      const double ratio = static_cast<double>(hand.solution.common[site][symbol]) / co;
      EXPECT_GE(ratio, hand.solution.objective.narrowest);
      EXPECT_LE(ratio, hand.solution.objective.narrowest + 8.0 / 32);  // a lane at the narrowest site
    }
}

TEST(FitProblem, LeavesASiteAtItsOwnLimitAndSharesTheRest) {
  ByHand hand({conv_load({64, 64, 8, 8, 1}), conv_load({64, 64, 8, 8, 1})});
  hand.problem.add_cost(CostKind::params, x0, std::vector<double>{100, 100});
  hand.problem.add_cost(CostKind::macs, x0, std::vector<double>{2'359'296.0 / 32, 100});
  EXPECT_EQ(hand.solve("macs=..1,params=..12k"), "solved");
  EXPECT_EQ(hand.x(0, 0), 32);
  EXPECT_EQ(hand.x(0, 1), 88);
}

TEST(FitProblem, RaisesOneSymbolFirstIfALowerLimitAsksForIt) {
  // At equal widths the parameters are spent before the MACs reach their lower limit: x1 has the more MACs.
  ByHand hand({plain}, 3);
  hand.cost(CostKind::params, x0, 320);
  hand.cost(CostKind::params, x1, 320);
  hand.cost(CostKind::macs, x0, 100);
  hand.cost(CostKind::macs, x1, 20'480);
  EXPECT_EQ(hand.solve("macs=0.4..1,params=..0.5"), "solved");
  EXPECT_LT(hand.x(0), 8);
  EXPECT_EQ(hand.x(1), 56);
}

TEST(FitProblem, SaysWhichLimitBindsAndWhatIsNearest) {
  ByHand fixed({plain}, 0);
  fixed.cost(CostKind::macs, one, 2'359'296 * 0.53);
  fixed.cost(CostKind::params, one, 36'900);
  fixed.cost(CostKind::bytes, one, 32'768);
  EXPECT_EQ(fixed.solve("macs=..1,params=..2,bytes=..2"), "solved");
  EXPECT_EQ(fixed.solve("macs=..0.5,params=..2"), "budget: macs at most 0.5 (0.53 at Ci=64 Co=64 H=8 W=8 s=1)");
  EXPECT_EQ(fixed.solve("params=2..3"), "budget: params at least 2 (1 at Ci=64 Co=64 H=8 W=8 s=1)");
  EXPECT_EQ(fixed.solve("params=..2,macs=..1M"), "budget: macs at most 1M (1.25M)");
  EXPECT_EQ(fixed.solve("params=40k..50k"), "budget: params at least 40k (36.9k)");
  EXPECT_EQ(fixed.solve("params=..2,bytes=..1.5"), "budget: bytes at most 1.5 (2 at Ci=64 Co=64 H=8 W=8 s=1)");
  EXPECT_EQ(fixed.solve("params=..2,bytes=..20k"), "budget: bytes at most 20k (32.8k)");

  ByHand free({plain});
  free.cost(CostKind::params, x0, 640);
  free.cost(CostKind::macs, x0, 100);
  // Both are broken; what is above its limit at the least widths binds, not what could still rise.
  EXPECT_EQ(free.solve("macs=0.5..1,params=..0.01"), "budget: params at most 0.01 (0.0174 at Ci=64 Co=64 H=8 W=8 s=1)");
  EXPECT_EQ(free.solve("macs=0.5..1,params=..0.5"), "budget: macs at least 0.5 (0.00102 at Ci=64 Co=64 H=8 W=8 s=1)");
}

TEST(FitProblem, SaysWhereMemoryEnds) {
  const SolverOptions small{.lane = 8, .most_elements = 1000};
  const char* rule = "memory: no tensor is too large (above 1000 elements at Ci=64 Co=64 H=8 W=8 s=1)";
  ByHand fixed({plain}, 0);
  fixed.problem.limit_volume(one, std::vector<double>{1001});
  EXPECT_EQ(fixed.solve("macs=..", small), rule);
  ByHand width({plain});
  width.problem.limit_volume(x0, std::vector<double>{64});
  EXPECT_EQ(width.solve("macs=..", small), "solved");
  EXPECT_EQ(width.x(0), 8);
  width.whole(x0, 1, 16);
  EXPECT_EQ(width.solve("macs=..", small), rule);
  ByHand area({plain}, 3);
  area.problem.limit_volume({1, 1}, std::vector<double>{1});
  EXPECT_EQ(area.solve("macs=..", small), "solved");
  EXPECT_LE(area.x(0) * area.x(1), 1000);
  area.problem.limit_volume({2, 1}, std::vector<double>{1001});
  EXPECT_EQ(area.solve("macs=..", small), rule);
}

TEST(FitProblem, SaysWhereNoValueIsWhole) {
  const char* rule = "every free symbol has a legal value (Ci=64 Co=64 H=8 W=8 s=1)";
  ByHand wide({plain});
  wide.whole(x0, 1, 1000);
  EXPECT_EQ(wide.solve("macs=.."), rule);
  ByHand coprime({plain});
  coprime.whole(x0, 1, 4);
  coprime.whole({-1}, 63, 1);
  EXPECT_EQ(coprime.solve("macs=.."), rule);
  ByHand fraction({plain});
  fraction.whole({-1}, 1, 2);
  EXPECT_EQ(fraction.solve("macs=.."), rule);
  ByHand zero({plain});
  zero.whole(x0, 0, 1);
  EXPECT_EQ(zero.solve("macs=.."), rule);
  ByHand joint({plain}, 3);
  joint.whole({1}, 1, 2);
  joint.whole({1, 1}, 1, 1009);
  EXPECT_EQ(joint.solve("macs=.."), rule);
}

TEST(FitProblem, PlacesNearARatioWithoutABudget) {
  ByHand hand({plain, conv_load({7, 30, 5, 6, 1})}, 3);
  hand.cost(CostKind::params, x0, 1e9);
  hand.whole(x1, 1, 4);
  FitSolution solution;
  ASSERT_TRUE(hand.problem.place(0.5, 1, solution).ok());
  EXPECT_EQ(solution.values[0], (FreeValues{32, 32, 1, 1, 1, 1}));
  EXPECT_EQ(solution.values[1], (FreeValues{15, 12, 1, 1, 1, 1}));
  EXPECT_EQ(solution.total[1], 47e9);
}

TEST(FitProblem, RefusesAPowerOfASymbolThatIsNotInUse) {
  ByHand hand({plain});
  const std::string message = testing::thrown_by([&] {
    hand.cost(CostKind::macs, x1, 1);
    return 0;
  });
  EXPECT_NE(message.find("x1 has power 1 and is not in use"), std::string::npos) << message;
}

TEST(FitObjective, IsLexicographic) {
  const FitObjective base{0.5, 0.9, 1e6};
  EXPECT_TRUE((FitObjective{0.6, 0.1, 9e6}).better_than(base));
  EXPECT_TRUE((FitObjective{0.5, 0.95, 9e6}).better_than(base));
  EXPECT_TRUE((FitObjective{0.5, 0.9, 9e5}).better_than(base));
  EXPECT_FALSE((FitObjective{0.5, 0.9, 1e6}).better_than(base));
  EXPECT_FALSE((FitObjective{0.4, 1.0, 1e5}).better_than(base));
}

}  // namespace
}  // namespace kasimir
