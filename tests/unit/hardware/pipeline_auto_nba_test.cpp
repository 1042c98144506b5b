// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/auto_nba.h"

#include "kasimir/hardware/pipeline/nba_search.h"
#include "kasimir/hardware/pipeline/shape_search.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using testing::thrown_by;

TEST(AutoNba, TheReleasedModelLeavesOutWhatTheSoundOneCounts) {
  const auto macs = [](const NbaNetwork& network, int classes) {
    std::pair<double, double> sums{0, 0};
    for (const auto& placed : paper_layers(network)) {
      const PaperLayer& l = placed.layer;
      sums.first += l.cin * l.cout * l.size * l.size * l.kernel * l.kernel;
    }
    for (const auto& placed : sound_layers(network, {8, classes}))
      sums.second += static_cast<double>(placed.layer.layer.macs());
    return sums;
  };
  const auto cifar = macs(nba_example(NbaInput::cifar), 10);
  EXPECT_EQ(cifar.first, 100283904);
  EXPECT_NEAR(cifar.second, 114.9e6, 0.1e6);
  const auto imagenet = macs(nba_example(NbaInput::imagenet), 1000);
  EXPECT_EQ(imagenet.first, 358600032);
  EXPECT_NEAR(imagenet.second, 431.8e6, 0.3e6);
}

TEST(AutoNba, ASkippedBlockShiftsTheBitsInTheReleasedModelOnly) {
  NbaNetwork network = nba_example(NbaInput::cifar);
  network.bits = {4, 6, 8, 4, 6, 8, 4, 6, 8, 4, 6, 8, 4, 6, 8, 4, 6, 8, 4, 6, 8, 4};
  network.blocks[3] = "skip";
  for (const auto& placed : paper_layers(network))
    if (placed.block == 4) {
      EXPECT_EQ(placed.bits, 4);
    }
  for (const auto& placed : sound_layers(network))
    if (placed.block == 4) {
      EXPECT_EQ(placed.bits, 6);
    }
}

TEST(AutoNba, ASkipThatChangesTheShapeIsAConvolution) {
  NbaNetwork network = nba_example(NbaInput::cifar);
  network.blocks[5] = "skip";  // 24 to 32 channels, stride 2
  network.blocks[6] = "skip";  // nothing changes
  std::size_t fifth = 0, sixth = 0;
  for (const auto& placed : sound_layers(network)) {
    fifth += placed.block == 5 ? 1 : 0;
    sixth += placed.block == 6 ? 1 : 0;
    if (placed.block == 5) {
      EXPECT_EQ(placed.layer.layer.macs(), 24 * 32 * 16 * 16);
    }
  }
  EXPECT_EQ(fifth, 1U);
  EXPECT_EQ(sixth, 0U);
}

TEST(AutoNba, RefusesNetworksOutsideTheSpace) {
  NbaNetwork network = nba_example(NbaInput::cifar);
  network.blocks[2] = "k3_e2";
  EXPECT_EQ(thrown_by([&] { return paper_layers(network); }),
            "2: unknown block `k3_e2` at place 3\n  did you mean `k3_e1`, `k3_e3` or `k3_e6`?");
  network = nba_example(NbaInput::cifar);
  network.bits[4] = 0;
  EXPECT_EQ(thrown_by([&] { return paper_layers(network); }), "2: 0 bits at place 5, needed: 1 to 64");
  network.bits.pop_back();
  EXPECT_EQ(thrown_by([&] { return sound_layers(network); }), "2: 22 blocks and 21 bit widths, needed: 22 of each");
  EXPECT_EQ(thrown_by([] { return paper_cost(nba_example(NbaInput::cifar), {}, auto_nba_budget()); }),
            "2: no shape for chunk `a0q6`, needed: one for each chunk that the network uses");
  EXPECT_EQ(thrown_by([] { return nba_space("b0q8", NbaInput::cifar, true); }),
            "2: unknown chunk `b0q8`, needed: a0, a1, dwa0 or dwa1 with q and bits");
  NbaQuestion nothing;
  nothing.network = nba_example(NbaInput::cifar);
  nothing.network.blocks.assign(22, "skip");
  EXPECT_EQ(thrown_by([&] { return solve_nba(nothing).answer.cycles; }),
            "2: all 22 blocks are skipped, needed: at least one layer");
}

TEST(AutoNba, AnOverfullDesignIsAValueWithItsViolations) {
  NbaQuestion question;
  question.network = nba_example(NbaInput::cifar);
  const NbaSolution best = solve_nba(question);
  const NbaCost cost = paper_cost(question.network, best.design, {70, 100, 1e9, 1e9});
  ASSERT_EQ(cost.violated.size(), 2U);
  EXPECT_EQ(cost.violated[0].str(), "dsp: 75 of 70");
  EXPECT_EQ(cost.violated[1].str(), "bram18: 195 of 100");
  EXPECT_EQ(cost.bottleneck, 1131204);
}

TEST(AutoNba, TheOptimumOfTheExampleIsProvedWithItsReleasedCost) {
  NbaQuestion question;
  question.network = nba_example(NbaInput::cifar);
  const NbaSolution fixed = solve_nba(question);
  EXPECT_TRUE(fixed.answer.optimal());
  EXPECT_EQ(fixed.answer.cycles, 1131204);
  EXPECT_EQ(fixed.cost.bottleneck, 1131204);
  EXPECT_EQ(fixed.cost.slowest, "dwa1q6");
  EXPECT_TRUE(fixed.cost.violated.empty());
  question.free_mode = true;
  const NbaSolution free_mode = solve_nba(question);
  EXPECT_TRUE(free_mode.answer.optimal());
  EXPECT_EQ(free_mode.answer.cycles, 490968);
}

TEST(AutoNba, TheSoundOptimumIsWhatTheEvaluatorSays) {
  for (const NbaInput input : {NbaInput::cifar, NbaInput::imagenet}) {
    NbaQuestion question;
    question.network = nba_example(input);
    question.mode = CostMode::sound;
    question.budget = budget_of(board_named("ZC706"));
    const NbaSolution best = solve_nba(question);
    EXPECT_TRUE(best.answer.optimal());
    EXPECT_TRUE(best.cost.violated.empty());
    EXPECT_EQ(best.answer.resources, best.cost.resources);
    const double memory = best.cost.resources.dram_bits / question.budget.dram_bits_per_cycle;
    EXPECT_DOUBLE_EQ(best.answer.cycles, std::max(best.cost.bottleneck, memory));
    EXPECT_GT(best.cost.outside_cycles, 0);
    EXPECT_GT(best.cost.visits, 22);
  }
}

TEST(AutoNba, ATighterBudgetIsNeverFaster) {
  NbaQuestion question;
  question.network = nba_example(NbaInput::cifar);
  question.free_mode = true;
  double before = 0;
  for (const double part : {1.0, 0.3, 0.2, 0.15, 0.1, 0.07}) {
    question.budget = {900 * part, 700 * part, INFINITY, INFINITY};
    const NbaSolution solution = solve_nba(question);
    if (!solution.answer.found) break;
    EXPECT_TRUE(solution.answer.optimal()) << part;
    EXPECT_GE(solution.answer.cycles, before) << part;
    before = solution.answer.cycles;
  }
  EXPECT_GT(before, 490968);
}

TEST(ShapeSearch, IsDeterministicAndCountsItsEvaluations) {
  NbaQuestion question;
  question.network = nba_example(NbaInput::cifar);
  for (const ShapeSearch method :
       {ShapeSearch::random, ShapeSearch::das_published, ShapeSearch::das_faster, ShapeSearch::das_repaired}) {
    const ShapeSearchResult a = search_shapes(question, {method, 150, 7});
    const ShapeSearchResult b = search_shapes(question, {method, 150, 7});
    ASSERT_TRUE(a.found) << name_of(method);
    EXPECT_EQ(a.evaluations, 150U) << name_of(method);
    EXPECT_EQ(a.best_after, b.best_after) << name_of(method);
    EXPECT_EQ(a.best_after.size(), 150U) << name_of(method);
    EXPECT_TRUE(std::is_sorted(a.best_after.rbegin(), a.best_after.rend())) << name_of(method);
    EXPECT_NE(a.best_after, search_shapes(question, {method, 150, 8}).best_after) << name_of(method);
    EXPECT_EQ(paper_cost(question.network, a.design, question.budget).bottleneck, a.bottleneck) << name_of(method);
    for (const auto& [chunk, shape] : a.design)
      EXPECT_TRUE(shape.rows <= shape.tile_rows && shape.cols <= shape.tile_cols && shape.out <= shape.tile_out &&
                  shape.in <= shape.tile_in)
          << chunk;
  }
}

TEST(ShapeSearch, AsPublishedItLearnsNothing) {
  NbaQuestion question;
  question.network = nba_example(NbaInput::cifar);
  const ShapeSearchResult published = search_shapes(question, {ShapeSearch::das_published, 500, 3});
  EXPECT_GT(published.largest_logit, 0);
  EXPECT_LT(published.largest_logit, 500 * 1e-7 * 2);
  EXPECT_GT(search_shapes(question, {ShapeSearch::das_faster, 500, 3}).largest_logit, 1);
}

TEST(ShapeSearch, RepairedItComesNearTheOptimumWhereTheOthersDoNot) {
  NbaQuestion question;
  question.network = nba_example(NbaInput::cifar);
  const std::vector<SearchGap> gaps = compare_searches(
      {question}, {ShapeSearch::random, ShapeSearch::das_published, ShapeSearch::das_repaired}, 1000, 3);
  ASSERT_EQ(gaps.size(), 3U);
  for (const SearchGap& gap : gaps) {
    EXPECT_EQ(gap.runs + gap.failed, 3U);
    EXPECT_GE(gap.mean_gap, 0);
    EXPECT_GE(gap.worst_gap, gap.mean_gap);
  }
  EXPECT_GT(gaps[0].mean_gap, 0.5);
  EXPECT_GT(gaps[1].mean_gap, 0.5);
  EXPECT_LT(gaps[2].mean_gap, 0.05);
}

TEST(ShapeSearch, SaysThatNothingFitted) {
  NbaQuestion question;
  question.network = nba_example(NbaInput::cifar);
  question.budget = {900, 10, INFINITY, INFINITY};
  const ShapeSearchResult result = search_shapes(question, {ShapeSearch::das_repaired, 60, 1});
  EXPECT_FALSE(result.found);
  EXPECT_TRUE(result.design.empty());
  EXPECT_EQ(result.evaluations, 60U);
  EXPECT_EQ(thrown_by([&] { return search_shapes(question, {ShapeSearch::random, 0, 1}).found; }),
            "2: a search with 0 evaluations, needed: at least 1");
}

}  // namespace
}  // namespace kasimir
