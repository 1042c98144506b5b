// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/engines.h"
#include "unit/hardware/message_of.h"
#include "unit/hardware/search_oracle.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

TEST(SearchEngines, ProveTheOptimumThatTryingEverythingFinds) {
  constexpr std::uint64_t seed = 3;
  int solved = 0;
  for (const Problem& problem : small_problems())
    for (std::uint64_t i = 0; i < 40 && !HasFailure(); ++i) {
      Rng rng(seed, i);
      const CostModel model(problem, small_architecture(rng));
      SearchOptions options;
      options.goal.objective = static_cast<Objective>(rng.below(4));
      options.goal.pj_per_cycle = 3;
      options.rules.search_keeps = rng.chance(0.3);
      if (MappingSpace(model, options.rules).size() > 6000) continue;
      SCOPED_TRACE(fmt::format("seed {}, stream {}, {}\n{}\n{}", seed, i, name_of(options.goal.objective), str(problem),
                               to_toml(model.architecture)));
      const double optimum = SearchOracle(model, options.rules).optimum(options.goal);
      for (const char* engine : {"exhaustive", "branch_and_bound"}) {
        const SearchAnswer answer = search_mapping(model, engine, options);
        ASSERT_EQ(answer.found, optimum < Goal::unlimited) << engine;
        EXPECT_TRUE(answer.complete) << engine;
        if (!answer.found) continue;
        EXPECT_NEAR(answer.value, optimum, 1e-9 * optimum) << engine;
        EXPECT_TRUE(answer.optimal()) << engine;
        ++solved;
      }
    }
  EXPECT_GT(solved, 250);
}

TEST(SearchEngines, KeepLimitsOnCyclesAndEnergy) {
  constexpr std::uint64_t seed = 4;
  int limited = 0;
  for (std::uint64_t i = 0; i < 12; ++i) {
    Rng rng(seed, i);
    const CostModel model(matrix_product(4, 6, 4), small_architecture(rng));
    SearchOracle oracle(model, {});
    const double fastest = oracle.optimum({.objective = Objective::latency});
    if (fastest == Goal::unlimited) continue;
    SearchOptions options;
    options.goal = {.objective = Objective::energy, .max_cycles = fastest * 1.05};
    SCOPED_TRACE(fmt::format("seed {}, stream {}", seed, i));
    const SearchAnswer answer = search_mapping(model, "branch_and_bound", options);
    ASSERT_TRUE(answer.found);
    EXPECT_LE(answer.evaluation.cycles, fastest * 1.05);
    EXPECT_NEAR(answer.value, oracle.optimum(options.goal), 1e-9 * answer.value);
    ++limited;
  }
  EXPECT_GT(limited, 5);
}

CostModel small_gemm() { return CostModel(matrix_product(16, 24, 36), preset("vector_unit")); }

TEST(SearchEngines, GiveTheSameAnswerForTheSameSeed) {
  const CostModel model = small_gemm();
  for (const SearchEngine& engine : search_engines()) {
    SearchOptions options;
    options.evaluations = 5000;
    options.seed = 11;
    const SearchAnswer first = search_mapping(model, engine.name, options);
    const SearchAnswer second = search_mapping(model, engine.name, options);
    ASSERT_TRUE(first.found) << engine.name;
    EXPECT_EQ(first.engine, engine.name);
    EXPECT_EQ(first.mapping, second.mapping) << engine.name;
    EXPECT_EQ(first.value, second.value) << engine.name;
    EXPECT_EQ(first.evaluations, second.evaluations) << engine.name;
  }
}

TEST(SearchEngines, AnswerWithMappingsThatTheEvaluatorConfirms) {
  const CostModel model = small_gemm();
  for (const SearchEngine& engine : search_engines()) {
    SearchOptions options;
    options.evaluations = 3000;
    const SearchAnswer answer = search_mapping(model, engine.name, options);
    ASSERT_TRUE(answer.found) << engine.name;
    check_mapping(model.problem, model.architecture, answer.mapping);
    const Evaluation again = evaluate(model, answer.mapping);
    EXPECT_TRUE(again.fits()) << engine.name;
    EXPECT_EQ(again.cycles * again.energy_pj, answer.value) << engine.name;
    EXPECT_EQ(answer.evaluation.cycles, again.cycles) << engine.name;
  }
}

TEST(SearchEngines, StayWithinABudgetOfEvaluations) {
  const CostModel model = small_gemm();
  for (const SearchEngine& engine : search_engines())
    for (const std::uint64_t budget : {1U, 100U, 2000U}) {
      SearchOptions options;
      options.evaluations = budget;
      const SearchAnswer answer = search_mapping(model, engine.name, options);
      EXPECT_FALSE(answer.complete) << engine.name;
      // a block and the judgement of its best may still be on their way
      EXPECT_LE(answer.evaluations, budget + 130) << engine.name;
    }
}

TEST(SearchEngines, StopWhenAskedAndKeepTheBest) {
  const CostModel model = small_gemm();
  for (const SearchEngine& engine : search_engines()) {
    int asked = 0;
    SearchOptions options;
    options.should_stop = [&] { return ++asked > 20; };
    const SearchAnswer answer = search_mapping(model, engine.name, options);
    EXPECT_EQ(asked, 21) << engine.name;
    EXPECT_FALSE(answer.complete) << engine.name;
    EXPECT_EQ(answer.evaluation.cycles, evaluate(model, answer.mapping).cycles) << engine.name;
  }
}

TEST(SearchEngines, BoundTheOptimumWhenStoppedEarly) {
  const CostModel model = small_gemm();
  const SearchAnswer best = search_mapping(model, "branch_and_bound", {});
  ASSERT_TRUE(best.optimal());
  for (const std::uint64_t budget : {200U, 2000U, 20000U, 100000U}) {
    SearchOptions options;
    options.evaluations = budget;
    const SearchAnswer answer = search_mapping(model, "branch_and_bound", options);
    ASSERT_TRUE(answer.found);
    EXPECT_GE(answer.value, best.value * (1 - 1e-12));
    EXPECT_LE(answer.lower_bound, best.value * (1 + 1e-12));
    EXPECT_GT(answer.lower_bound, 0);
  }
}

TEST(SearchEngines, ProveNoMoreThanTheGapThatIsWanted) {
  const CostModel model = small_gemm();
  const SearchAnswer best = search_mapping(model, "branch_and_bound", {});
  SearchOptions options;
  options.gap = 0.05;
  const SearchAnswer rough = search_mapping(model, "branch_and_bound", options);
  EXPECT_LE(rough.lower_bound, best.value * (1 + 1e-12));
  EXPECT_LE(rough.gap(), 0.0527);
  EXPECT_LT(rough.evaluations, best.evaluations);
}

TEST(SearchEngines, FollowTheRulesOfADataflow) {
  const CostModel model = small_gemm();
  SearchOptions options;
  options.evaluations = 2000;
  const int m = model.problem.find_dim("M");
  options.rules.bounds = {{.level = 2, .kind = LoopKind::spatial_x, .dim = m, .bound = 8},
                          {.level = 1, .kind = LoopKind::temporal, .dim = m, .bound = 1}};
  for (const SearchEngine& engine : search_engines()) {
    const SearchAnswer answer = search_mapping(model, engine.name, options);
    ASSERT_TRUE(answer.found) << engine.name;
    std::int64_t across = 1;
    for (int i = 0; i < answer.mapping.count; ++i) {
      const auto& loop = answer.mapping.loops[static_cast<std::size_t>(i)];
      if (loop.dim == m && loop.kind == LoopKind::spatial_x) across *= loop.bound;
      EXPECT_FALSE(loop.dim == m && loop.level == 1) << engine.name;
    }
    EXPECT_EQ(across, 8) << engine.name;
  }
}

TEST(SearchEngines, SayWhichCapacityKillsAndHowNearTheNearestComes) {
  Architecture architecture = preset("vector_unit");
  architecture.levels[2].capacity_bits = 40;  // one element of each operand takes 48
  const CostModel model(matrix_product(4, 4, 4), architecture);
  for (const char* engine : {"exhaustive", "branch_and_bound", "gradient", "polish"}) {
    SearchOptions options;
    options.evaluations = 3000;
    const SearchAnswer answer = search_mapping(model, engine, options);
    ASSERT_FALSE(answer.found) << engine;
    EXPECT_EQ(answer.misfit.constraint, "capacity of registers") << engine;
    EXPECT_EQ(answer.misfit.share, 1) << engine;
    ASSERT_EQ(answer.misfit.violations.size(), 1U) << engine;
    EXPECT_EQ(explain(model, options, answer).substr(0, 79),
              "no mapping fits: 100 % of those that were looked at break the limit of capacity")
        << engine;
  }
}

TEST(SearchEngines, SayWhichLimitIsOutOfReach) {
  const CostModel model(matrix_product(4, 4, 4), preset("vector_unit"));
  SearchOptions options;
  options.goal.max_cycles = 1;
  const SearchAnswer answer = search_mapping(model, "branch_and_bound", options);
  ASSERT_FALSE(answer.found);
  EXPECT_EQ(answer.misfit.constraint, "cycles");
  EXPECT_EQ(answer.misfit.violations, std::vector<std::string>{fmt::format("it takes {} cycles, the limit is 1 cycles",
                                                                           answer.evaluation.cycles)});
}

TEST(SearchEngines, ExplainHowSureTheyAre) {
  const CostModel model = small_gemm();
  SearchOptions options;
  SearchAnswer answer = search_mapping(model, "branch_and_bound", options);
  EXPECT_EQ(explain(model, options, answer), fmt::format("edp {:.4g} pJ cycles, proved optimal", answer.value));
  answer.lower_bound = answer.value / 1.125;
  EXPECT_EQ(explain(model, options, answer),
            fmt::format("edp {:.4g} pJ cycles, proved within 12 % of the optimum", answer.value));
  answer.lower_bound = 0;
  EXPECT_EQ(explain(model, options, answer),
            fmt::format("edp {:.4g} pJ cycles, nothing is proved about better ones", answer.value));
}

TEST(SearchEngines, NameTheNearestEngineAndObjective) {
  const CostModel model = small_gemm();
  EXPECT_EQ(message_of([&] { search_mapping(model, "gradent", {}); }),
            "no search engine is called `gradent`\n  did you mean `gradient`?");
  EXPECT_EQ(message_of([] { parse_objective("enery"); }), "no objective is called `enery`\n  did you mean `energy`?");
  for (const Objective objective :
       {Objective::latency, Objective::energy, Objective::energy_delay, Objective::weighted})
    EXPECT_EQ(parse_objective(name_of(objective)), objective);
}

TEST(SearchEngines, RefuseModelsThatAreNotForSearches) {
  EvaluationOptions options;
  options.softness = 2;
  const CostModel model(matrix_product(4, 4, 4), preset("gemmini"), options);
  EXPECT_EQ(message_of([&] { search_mapping(model, "random", {}); }),
            "a search needs evaluations with softness 0 that do not stop at a violation");
}

/// Where the space cannot be tabulated the bound is weaker, but still there.
TEST(SearchEngines, BoundSpacesThatAreNotProducts) {
  EvaluationOptions evaluation;
  evaluation.halo = HaloRule::full;
  const CostModel model(convolution({.out_channels = 4,
                                     .in_channels = 4,
                                     .out_height = 6,
                                     .out_width = 6,
                                     .kernel_height = 3,
                                     .kernel_width = 3}),
                        preset("gemmini"), evaluation);
  SearchOptions options;
  options.evaluations = 3000;
  const SearchAnswer answer = search_mapping(model, "branch_and_bound", options);
  ASSERT_TRUE(answer.found);
  EXPECT_EQ(answer.lower_bound, compulsory_bound(model, options.goal));
  EXPECT_GT(answer.lower_bound, 0);
  EXPECT_EQ(message_of([&] { search_mapping(model, "exhaustive", options); }).substr(0, 12), "the space of");
}

TEST(GradientEngine, ComesWithinTwoPercentOfTheOptimumAtOnePercentOfTheEvaluations) {
  std::vector<ComparedSpace> spaces = compared_spaces();
  ASSERT_EQ(spaces.size(), 6U);
  spaces.erase(spaces.begin());  // 48 x 720 x 360 takes seconds
  for (const ComparedSpace& space : spaces) {
    const double optimum = search_mapping(space.model, "branch_and_bound", space.options).value;
    const double budget = 0.01 * space_evaluations(space.model, space.options);
    double mean = 0;
    constexpr std::uint64_t seeds = 2;
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      SearchOptions options = space.options;
      options.seed = seed;
      options.evaluations = static_cast<std::uint64_t>(budget) - 130;
      const SearchAnswer answer = search_mapping(space.model, "gradient", options);
      EXPECT_LE(static_cast<double>(answer.evaluations), budget) << space.name;
      mean += answer.value / optimum / seeds;
    }
    EXPECT_LE(mean, 1.02) << space.name;
    EXPECT_GE(mean, 1 - 1e-9) << space.name;
  }
}

TEST(CompareEngines, ListsEveryEngineOnEverySpaceAgainstTheOptimum) {
  const std::vector<ComparedSpace> spaces{{"small", CostModel(matrix_product(8, 12, 6), preset("vector_unit")), {}}};
  const std::vector<EngineGap> gaps = compare_engines(spaces, 0.01, 2);
  ASSERT_EQ(gaps.size(), search_engines().size() - 1);
  for (const EngineGap& gap : gaps) {
    EXPECT_EQ(gap.space, "small");
    EXPECT_GE(gap.mean, 1 - 1e-9) << gap.engine;
    EXPECT_GE(gap.worst, gap.mean * (1 - 1e-12)) << gap.engine;
    EXPECT_EQ(gap.space_evaluations, space_evaluations(spaces[0].model, {})) << gap.engine;
    if (gap.engine == "branch_and_bound") {
      EXPECT_EQ(gap.optimal, gap.runs);
    }
  }
  EXPECT_EQ(str(gaps).substr(0, 5), "space");
  const std::vector<EngineGap> one = compare_engines(spaces, 0.01, 2, "polish");
  ASSERT_EQ(one.size(), 1U);
  EXPECT_EQ(one[0].engine, "polish");
}

TEST(SpaceEvaluations, AreThoseOfTheExhaustiveSearch) {
  const CostModel model(matrix_product(8, 12, 6), preset("vector_unit"));
  const SearchAnswer answer = search_mapping(model, "exhaustive", {});
  const double all = space_evaluations(model, {});
  EXPECT_GE(static_cast<double>(answer.evaluations), all);
  EXPECT_LE(static_cast<double>(answer.evaluations), all + 1000);  // the best of each class is judged once more
}

}  // namespace
}  // namespace kasimir
