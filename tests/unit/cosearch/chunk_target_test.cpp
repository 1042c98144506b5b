// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/chunk_target.h"

#include "kasimir/base/rng.h"
#include "kasimir/hardware/pipeline/check_pipelines.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <set>

namespace kasimir {
namespace {

using testing::thrown_by;

std::size_t place_of(const std::vector<std::string>& names, const std::string& name) {
  return static_cast<std::size_t>(std::find(names.begin(), names.end(), name) - names.begin());
}

ChoiceDesign design_of(const NbaNetwork& network, const ChoiceSpace& space) {
  ChoiceDesign design;
  for (std::size_t l = 0; l < network.blocks.size(); ++l) {
    const auto bits = std::find(space.bits.begin(), space.bits.end(), network.bits[l]) - space.bits.begin();
    design.push_back({place_of(space.blocks[l].ops, network.blocks[l]), static_cast<std::size_t>(bits)});
  }
  return design;
}

TEST(ChunkTarget, ReproducesTheBottlenecksOfTheReleasedPredictor) {
  const auto references =
      read_nba_references(std::filesystem::path(KASIMIR_SOURCE_DIR) / "tests/reference/hardware/auto_nba_networks.csv");
  ASSERT_EQ(references.size(), 16U);
  for (const NbaReference& reference : references) {
    const std::set<int> bits(reference.network.bits.begin(), reference.network.bits.end());
    ChunkTarget target =
        nba_target({.input = reference.network.input, .mode = CostMode::paper, .bits = {bits.begin(), bits.end()}});
    NbaDesign shapes = reference.design;
    for (const int width : bits)  // chunks that this network does not use may have any shape
      for (const std::string name : {"a0", "a1", "dwa0", "dwa1"})
        shapes.insert({fmt::format("{}q{}", name, width), {}});
    const Accelerator accelerator = target.with_shapes(shapes);
    const ChoiceDesign read = paper_reading(design_of(reference.network, target.space()), target.space());
    const std::vector<double> loads = loads_of(accelerator.loads, read);
    EXPECT_EQ(cost_of(accelerator.loads, read), reference.bottleneck);
    for (std::size_t c = 0; c < loads.size(); ++c)
      if (loads[c] > 0) {
        EXPECT_EQ(loads[c], reference.chunk_cycles.at(accelerator.loads.parts[c]));
      }
    EXPECT_DOUBLE_EQ(target.resources_of(accelerator, read).dsp, reference.dsp);
    EXPECT_DOUBLE_EQ(target.resources_of(accelerator, read).bram18, reference.bram18);
  }
}

TEST(ChunkTarget, CostsWhatTheExactSolverSays) {
  for (const CostMode mode : {CostMode::paper, CostMode::sound}) {
    const ResourceBudget budget = budget_of(board_named("ZC706"));
    ChunkTarget target = nba_target({.mode = mode, .budget = budget});
    Rng rng(11);
    for (int i = 0; i < 4; ++i) {
      const ChoiceDesign design = random_design(target.space(), rng);
      const ChoiceDesign read = mode == CostMode::paper ? paper_reading(design, target.space()) : design;
      NbaQuestion question;
      question.network = nba_network(design, target.space(), NbaInput::cifar);
      question.mode = mode;
      question.budget = budget;
      const NbaSolution solution = solve_nba(question);
      EXPECT_NEAR(target.cost(read), solution.answer.cycles, 1e-6 * solution.answer.cycles);
      const Accelerator accelerator = target.optimise(read);
      EXPECT_NEAR(cost_of(accelerator.loads, read), target.cost(read), 1e-6 * target.cost(read));
      EXPECT_NEAR(target.cost_on(accelerator, read), target.cost(read), 1e-6 * target.cost(read));
    }
  }
}

TEST(ChunkTarget, NoDesignIsFasterThanTheBound) {
  ResourceBudget budget = budget_of(board_named("ZC706"));  // a budget that binds
  budget.dsp /= 4;
  budget.bram18 /= 4;
  ChunkTarget target = nba_target({.budget = budget});
  Rng rng(12);
  const ChoiceDesign near = random_design(target.space(), rng);
  const HardwareTarget::Bound bound = target.bound(near);
  for (int i = 0; i < 8; ++i) {
    const ChoiceDesign design = i == 0 ? near : random_design(target.space(), rng);
    EXPECT_LE(cost_of(bound.loads, design), target.cost(design) * (1 + 1e-9));
    EXPECT_GE(cost_of(bound.loads, design), 0.5 * target.cost(design));
  }
}

TEST(ChunkTarget, DualsAddUpAndEveryChunkOfABindingBudgetCounts) {
  ResourceBudget budget = budget_of(board_named("ZC706"));
  budget.dsp /= 10;
  ChunkTarget target = nba_target({.budget = budget});
  Rng rng(13);
  const Accelerator accelerator = target.optimise(random_design(target.space(), rng));
  double sum = 0;
  std::size_t counted = 0;
  for (const double dual : accelerator.duals) {
    EXPECT_GE(dual, 0);
    sum += dual;
    counted += dual > 0 ? 1 : 0;
  }
  EXPECT_NEAR(sum, 1, 1e-12);
  EXPECT_GE(counted, 2U);
}

TEST(ChunkTarget, NothingFitsInABudgetOfNothing) {
  ResourceBudget budget = auto_nba_budget();
  budget.bram18 = 3;
  ChunkTarget target = nba_target({.mode = CostMode::paper, .budget = budget});
  EXPECT_TRUE(std::isinf(target.cost(ChoiceDesign(22, {3, 2}))));
}

TEST(ChunkTarget, TakesLayersOfAnyNetwork) {
  const ChoiceSpace space{{{"one", {"conv", "split"}}}, {4, 8}};
  const BlockLayers layers{{{{same_convolution("conv", 16, 32, 32, 3)},
                             {same_convolution("dw", 16, 16, 32, 3, 1, 16), same_convolution("pw", 16, 32, 32, 1)}}},
                           {same_convolution("stem", 3, 16, 32, 3)}};
  ChunkTarget target = chunk_target(space, layers, {.free_mode = true});
  const double conv = target.cost({{0, 1}}), split = target.cost({{1, 1}});
  EXPECT_LT(split, conv);
  EXPECT_LE(target.cost({{0, 0}}), conv);
}

TEST(ChunkTarget, DescribesWhatItOptimised) {
  const ChoiceSpace space{{{"one", {"conv", "split"}}, {"two", {"conv", "skip"}}}, {4, 8}};
  ConvLayer stem = same_convolution("stem", 3, 16, 32, 3);
  stem.bits = {8, 8};
  const ConvLayer conv = same_convolution("conv", 16, 16, 32, 3);
  const BlockLayers layers{
      {{{conv}, {same_convolution("dw", 16, 16, 32, 3, 1, 16), same_convolution("pw", 16, 16, 32, 1)}}, {{conv}, {}}},
      {stem}};
  ChunkTarget target =
      chunk_target(space, layers, {.budget = budget_of(board_named("ZC706")), .name = "small", .clock_mhz = 175});
  for (const ChoiceDesign& design : {ChoiceDesign{{0, 0}, {0, 1}}, ChoiceDesign{{1, 1}, {1, 0}}}) {
    const std::vector<TargetFile> files = target.files(design);
    ASSERT_EQ(files.front().name, "accelerator.toml");
    const PipelineDescription read = parse_pipeline(files.front().text, files.front().name);
    EXPECT_EQ(read, target.describe(design));
    EXPECT_EQ(read.name, "small");
    EXPECT_EQ(read.clock_mhz, 175);
    EXPECT_NEAR(cycles_of(read), target.cost(design), 1e-9 * target.cost(design));
    std::size_t described = 0;
    for (const DescribedChunk& chunk : read.chunks) described += chunk.layers.size();
    EXPECT_EQ(described, 3U);
    EXPECT_EQ(files.size(), 1 + described);
    for (std::size_t i = 1; i < files.size(); ++i) {
      EXPECT_TRUE(files[i].name.starts_with("timeloop/"));
      EXPECT_NO_THROW(parse_timeloop_problem(files[i].text, files[i].name));
    }
  }
  EXPECT_TRUE(nba_target({.mode = CostMode::paper, .bits = {8}}).files(ChoiceDesign(22, {0, 0})).empty());
}

TEST(ChunkTarget, SaysWhereLayersDoNotFitTheSpace) {
  const ChoiceSpace space{{{"one", {"conv", "skip"}}}, {4}};
  EXPECT_EQ(thrown_by([&] { return chunk_target(space, {}, {}); }), "2: layers of 0 blocks, needed: of 1");
  EXPECT_EQ(thrown_by([&] { return chunk_target(space, {{{{}}}, {}}, {}); }),
            "2: layers of 1 operators in block one, needed: of 2");
  EXPECT_EQ(thrown_by([&] { return chunk_target(space, {{{{}, {}}}, {}}, {}); }),
            "2: no operator of any block has a layer, needed: at least one");
  ChunkTarget target = nba_target({.bits = {8}});
  EXPECT_EQ(thrown_by([&] { return target.with_shapes({}); }),
            "2: no shape for chunk `a0q8`, needed: one for each chunk that a choice may use");
}

TEST(ChunkTarget, ASkipPassesItsBitsOnInTheReleasedReadingOnly) {
  const ChoiceSpace space{{{"a", {"conv", "skip"}}, {"b", {"conv", "skip"}}, {"c", {"conv", "skip"}}}, {4, 6, 8}};
  EXPECT_EQ(paper_reading({{0, 0}, {1, 1}, {0, 2}}, space), (ChoiceDesign{{0, 0}, {1, 1}, {0, 1}}));
}

}  // namespace
}  // namespace kasimir
