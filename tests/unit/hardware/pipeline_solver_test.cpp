// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/solver.h"

#include "kasimir/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Chunks with options whose cycles fall as their resources grow, more or less.
PipelineProblem random_problem(std::uint64_t seed) {
  Rng rng(seed);
  PipelineProblem problem;
  const std::size_t chunks = 2 + rng.below(4);
  Resources sum;
  for (std::size_t c = 0; c < chunks; ++c) {
    std::vector<ChunkOption> options;
    const std::size_t count = 2 + rng.below(6);
    for (std::size_t o = 0; o < count; ++o) {
      const auto whole = [&](std::int64_t high) { return static_cast<double>(rng.between(1, high)); };
      options.push_back({whole(40), {whole(20), whole(20), whole(20), 10 * whole(40)}, o});
      sum = sum + options.back().resources;
    }
    problem.options.push_back(options);
  }
  const auto limit = [&](double all) { return rng.chance(0.2) ? infinity : all * (0.08 + 0.3 * rng.unit()); };
  problem.budget = {limit(sum.dsp), limit(sum.bram18), limit(sum.lut), limit(sum.dram_bits) / 10};
  return problem;
}

double cycles_of(const PipelineProblem& problem, const std::vector<std::size_t>& choice) {
  Resources used;
  double slowest = 0;
  for (std::size_t c = 0; c < choice.size(); ++c) {
    used = used + problem.options[c][choice[c]].resources;
    slowest = std::max(slowest, problem.options[c][choice[c]].cycles);
  }
  const ResourceBudget& b = problem.budget;
  if (used.dsp > b.dsp || used.bram18 > b.bram18 || used.lut > b.lut) return infinity;
  return std::max(slowest, used.dram_bits / b.dram_bits_per_cycle);
}

double brute_force(const PipelineProblem& problem) {
  double best = infinity;
  std::vector<std::size_t> choice(problem.options.size(), 0);
  for (;;) {
    best = std::min(best, cycles_of(problem, choice));
    std::size_t c = 0;
    while (c < choice.size() && ++choice[c] == problem.options[c].size()) choice[c++] = 0;
    if (c == choice.size()) return best;
  }
}

TEST(PipelineSolver, AgreesWithAllCombinationsOnRandomProblems) {
  std::size_t solved = 0, impossible = 0, memory_bound = 0;
  for (std::uint64_t seed = 1; seed <= 3000; ++seed) {
    const PipelineProblem problem = random_problem(seed);
    const double best = brute_force(problem);
    const PipelineAnswer answer = solve_pipeline(problem);
    ASSERT_EQ(answer.found, std::isfinite(best)) << "seed " << seed;
    if (!answer.found) {
      ++impossible;
      EXPECT_FALSE(answer.violated.empty()) << "seed " << seed;
      continue;
    }
    ++solved;
    memory_bound += std::floor(best) == best ? 0 : 1;
    EXPECT_NEAR(answer.cycles, best, 1e-9 * best) << "seed " << seed;
    EXPECT_NEAR(cycles_of(problem, answer.choice), best, 1e-9 * best) << "seed " << seed;
    EXPECT_TRUE(answer.optimal()) << "seed " << seed;
    EXPECT_TRUE(answer.violated.empty()) << "seed " << seed;
  }
  EXPECT_GT(solved, 500U);
  EXPECT_GT(impossible, 300U);
  EXPECT_GT(memory_bound, 100U);
}

TEST(PipelineSolver, WithFewStatesItsBoundStillHolds) {
  std::size_t open = 0;
  for (std::uint64_t seed = 1; seed <= 1000; ++seed) {
    const PipelineProblem problem = random_problem(seed);
    const double best = brute_force(problem);
    const PipelineAnswer answer = solve_pipeline(problem, {.states = 1, .relax = false});
    if (!answer.found) continue;
    EXPECT_LE(answer.lower_bound, best * (1 + 1e-9)) << "seed " << seed;
    EXPECT_GE(answer.cycles, best * (1 - 1e-9)) << "seed " << seed;
    EXPECT_NEAR(cycles_of(problem, answer.choice), answer.cycles, 1e-9 * best) << "seed " << seed;
    open += answer.optimal() ? 0 : 1;
  }
  EXPECT_GT(open, 0U);
}

TEST(PipelineSolver, ParetoOptionsKeepEachBestCombination) {
  for (std::uint64_t seed = 1; seed <= 500; ++seed) {
    PipelineProblem problem = random_problem(seed);
    const double before = brute_force(problem);
    for (auto& options : problem.options) options = pareto_options(options, problem.budget);
    const double after = brute_force(problem);
    EXPECT_EQ(before, after) << "seed " << seed;
  }
}

PipelineProblem two_chunks() {
  return {{"left", "right"},
          {{{10, {8, 4, 0, 0}, 0}, {20, {4, 4, 0, 0}, 1}, {40, {2, 4, 0, 0}, 2}},
           {{15, {6, 1, 0, 0}, 0}, {30, {3, 1, 0, 0}, 1}}},
          {14, 10, infinity, infinity},
          infinity};
}

TEST(PipelineSolver, ChoosesTheSmallestOfTheFastestDesigns) {
  const PipelineAnswer answer = solve_pipeline(two_chunks());
  ASSERT_TRUE(answer.optimal());
  EXPECT_EQ(answer.cycles, 15);
  PipelineProblem tight = two_chunks();
  tight.budget.dsp = 10;
  const PipelineAnswer second = solve_pipeline(tight, {.states = 100, .relax = true});
  EXPECT_EQ(second.cycles, 20);
  EXPECT_EQ(second.choice, (std::vector<std::size_t>{1, 0}));
  ASSERT_EQ(second.relaxed.size(), 1U);
  EXPECT_EQ(second.relaxed[0].constraint, "dsp");
  EXPECT_EQ(second.relaxed[0].cycles, 15);
  EXPECT_EQ(explain(tight, second),
            "optimal: 20 cycles per frame, no design within the budget is faster\n"
            "  without the limit on dsp: 15 cycles\n"
            "  left: 20 cycles, 4 dsp, 4 bram18\n"
            "  right: 15 cycles, 6 dsp, 1 bram18\n");
}

TEST(PipelineSolver, SaysWhichConstraintBindsAndTheNearestDesign) {
  PipelineProblem problem = two_chunks();
  problem.budget = {4, 10, infinity, infinity};
  const PipelineAnswer answer = solve_pipeline(problem);
  EXPECT_FALSE(answer.found);
  EXPECT_EQ(answer.lower_bound, 0);
  EXPECT_EQ(answer.choice, (std::vector<std::size_t>{2, 1}));
  ASSERT_EQ(answer.violated.size(), 1U);
  EXPECT_EQ(answer.violated[0].str(), "dsp: 5 of 4");
  EXPECT_EQ(explain(problem, answer),
            "no design meets all constraints; the nearest one breaks:\n"
            "  dsp: 5 of 4\n"
            "  without the limit on dsp: 15 cycles\n"
            "  left: 40 cycles, 2 dsp, 4 bram18\n"
            "  right: 30 cycles, 3 dsp, 1 bram18\n");
}

TEST(PipelineSolver, ATargetThatIsMissedNamesTheFastestDesign) {
  PipelineProblem problem = two_chunks();
  problem.budget.dsp = 10;
  problem.max_cycles = 18;
  const PipelineAnswer answer = solve_pipeline(problem);
  EXPECT_FALSE(answer.found);
  EXPECT_EQ(answer.cycles, 20);
  ASSERT_EQ(answer.violated.size(), 1U);
  EXPECT_EQ(answer.violated[0].str(), "cycles per frame: 20 of 18");
  ASSERT_EQ(answer.relaxed.size(), 1U);
  EXPECT_EQ(answer.relaxed[0].constraint, "dsp");
}

TEST(PipelineSolver, ASharedMemorySlowsTheFrameDown) {
  PipelineProblem problem;
  problem.options = {{{10, {1, 0, 0, 300}, 0}, {12, {1, 0, 0, 100}, 1}}, {{10, {1, 0, 0, 50}, 0}}};
  problem.budget = unlimited();
  problem.budget.dram_bits_per_cycle = 10;
  const PipelineAnswer answer = solve_pipeline(problem);
  EXPECT_TRUE(answer.optimal());
  EXPECT_EQ(answer.cycles, 15);
  EXPECT_EQ(answer.choice, (std::vector<std::size_t>{1, 0}));
}

}  // namespace
}  // namespace kasimir
