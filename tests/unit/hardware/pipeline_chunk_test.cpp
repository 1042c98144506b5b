// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/chunk.h"

#include "kasimir/base/rng.h"
#include "kasimir/hardware/pipeline/auto_nba.h"
#include "kasimir/hardware/pipeline/solver.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kasimir {
namespace {

using testing::thrown_by;

template <typename T>
T pick(Rng& rng, const std::vector<T>& values) {
  return values[rng.below(values.size())];
}

ChunkShape random_shape(Rng& rng, bool depthwise) {
  const std::vector<ChunkShape> shapes =
      every_shape(nba_space(depthwise ? "dwa0q8" : "a0q8", NbaInput::imagenet, true));
  return pick(rng, shapes);
}

SoundLayer random_layer(Rng& rng, bool depthwise) {
  const int channels = pick<int>(rng, {3, 8, 16, 24, 40});
  const int size = pick<int>(rng, {7, 14, 17, 28});
  const int kernel = pick<int>(rng, {1, 3, 5});
  const int stride = pick<int>(rng, {1, 2});
  if (depthwise) return {same_convolution("l", channels, channels, size, kernel, stride, channels), rng.chance(0.3)};
  return {same_convolution("l", channels, pick<int>(rng, {4, 16, 30}), size, kernel, stride), rng.chance(0.3)};
}

double multipliers(const ChunkShape& shape, bool depthwise) {
  if (shape.mode == 0) return shape.out;
  if (depthwise || shape.mode == 2) return shape.rows;
  return shape.out * shape.in;
}

TEST(Fpga, BlockRamFollowsThePortShapes) {
  EXPECT_EQ(bram18_count(36, 512), 1);
  EXPECT_EQ(bram18_count(37, 512), 2);
  EXPECT_EQ(bram18_count(18, 1024), 1);
  EXPECT_EQ(bram18_count(16, 1025), 2);
  EXPECT_EQ(bram18_count(1, 16384), 1);
  EXPECT_EQ(bram18_count(8, 4096), 2);
  EXPECT_EQ(bram18_count(72, 1024), 4);
}

TEST(Fpga, SmallMemoriesAreTables) {
  EXPECT_EQ(memory_cost(8, 128).bram18, 0);
  EXPECT_EQ(memory_cost(8, 128).lut, 4 * 3 * 2);
  EXPECT_EQ(memory_cost(8, 129).bram18, 1);
  EXPECT_EQ(memory_cost(8, 129).lut, 0);
}

TEST(Fpga, NarrowProductsShareABlock) {
  EXPECT_EQ(dsp_count(16, 4, {16, 16}), 64);
  EXPECT_EQ(dsp_count(16, 4, {8, 8}), 32);
  EXPECT_EQ(dsp_count(5, 1, {8, 6}), 3);
  EXPECT_EQ(dsp_count(16, 4, {4, 4}), 16);
  EXPECT_EQ(dsp_count(1, 16, {4, 4}), 16);
  EXPECT_EQ(dsp_count(1, 1, {25, 18}), 1);
  EXPECT_EQ(dsp_count(1, 1, {32, 32}), 4);
}

TEST(Fpga, EveryNumberOfABoardHasUnitAndSource) {
  ASSERT_GE(boards().size(), 3U);
  for (const Board& board : boards())
    for (const BoardNumber& number : {board.dsp, board.bram18, board.lut, board.flip_flop, board.dram, board.clock}) {
      EXPECT_GT(number.value, 0) << board.name;
      EXPECT_FALSE(number.unit.empty()) << board.name;
      EXPECT_FALSE(number.source.empty()) << board.name;
    }
  EXPECT_EQ(board_named("ZC706").dsp.value, 900);
  EXPECT_EQ(&board_named("zc706"), &board_named("ZC706"));
  EXPECT_EQ(find_board("zc760"), nullptr);
  EXPECT_EQ(thrown_by([] { return board_named("ZC760"); }), "2: unknown board `ZC760`\n  did you mean `ZC706`?");
}

TEST(Fpga, ViolationsHaveNameAndAmount) {
  const ResourceBudget budget = budget_of(board_named("ZC706"));
  EXPECT_NEAR(budget.dram_bits_per_cycle, 170.56, 1e-9);
  EXPECT_TRUE(violations({900, 1090, 218600, 17056}, 100, budget).empty());
  const std::vector<Violation> broken = violations({901, 1090, 218600, 17056}, 50, budget);
  ASSERT_EQ(broken.size(), 2U);
  EXPECT_EQ(broken[0].str(), "dsp: 901 of 900");
  EXPECT_EQ(broken[1].str(), "dram bits per cycle: 341.12 of 170.56");
}

TEST(Chunk, SpacesHaveTheReleasedSizes) {
  EXPECT_EQ(every_shape(nba_space("a0q8", NbaInput::cifar, true)).size(), 67500U);
  EXPECT_EQ(every_shape(nba_space("a0q8", NbaInput::cifar, false)).size(), 22500U);
  EXPECT_EQ(every_shape(nba_space("a1q8", NbaInput::cifar, true)).size(), 47628U);
  EXPECT_EQ(every_shape(nba_space("dwa0q8", NbaInput::imagenet, true)).size(), 4500U);
  EXPECT_EQ(every_shape(nba_space("dwa1q8", NbaInput::imagenet, false)).size(), 756U);
}

// Fronts of all shapes and of the effective ones, as (cycles, resources) sets.
template <typename CostOf>
void expect_same_front(const ChunkSpace& space, const CostOf& cost_of, std::uint64_t seed) {
  const ResourceBudget all{1e9, 1e9, 1e9, 1e9};
  const auto front = [&](const std::vector<ChunkShape>& shapes) {
    std::vector<ChunkOption> options;
    for (const ChunkShape& shape : shapes) {
      const ChunkLayerCost cost = cost_of(shape);
      options.push_back({cost.cycles, cost.resources, 0});
    }
    return pareto_options(std::move(options), all);
  };
  EXPECT_EQ(front(every_shape(space)), front(effective_shapes(space))) << "seed " << seed;
}

TEST(Chunk, EffectiveShapesLoseNothingInEitherCostMode) {
  for (std::uint64_t seed = 1; seed <= 4; ++seed)
    for (const bool depthwise : {false, true}) {
      Rng rng(seed);
      ChunkSpace space = nba_space(depthwise ? "dwa1q8" : "a1q8", NbaInput::imagenet, true);
      space.tile_out = space.out = {8, 4, 1};
      if (!depthwise) space.tile_in = space.in = {8, 4, 1};
      const SoundLayer layer = random_layer(rng, depthwise);
      expect_same_front(space, [&](const ChunkShape& s) { return sound_layer_cost(layer, s, {8, 8}); }, seed);
      const PaperLayer paper{depthwise ? 1.0 : 24.0, 48, 14, static_cast<double>(layer.layer.kernel_h), depthwise};
      expect_same_front(space, [&](const ChunkShape& s) { return paper_layer_cost(paper, s, 8); }, seed);
    }
}

TEST(SoundCost, NeverComputesMoreThanItsMultipliersCanNorMovesLessThanItMust) {
  for (std::uint64_t seed = 1; seed <= 400; ++seed) {
    Rng rng(seed);
    const bool depthwise = rng.chance(0.4);
    const SoundLayer layer = random_layer(rng, depthwise);
    const ChunkShape shape = random_shape(rng, depthwise);
    const ChunkLayerCost cost = sound_layer_cost(layer, shape, {8, 8});
    EXPECT_GE(cost.cycles, static_cast<double>(layer.layer.macs()) / multipliers(shape, depthwise)) << "seed " << seed;
    const double outputs = 8.0 * static_cast<double>(layer.layer.outputs());
    EXPECT_GE(cost.resources.dram_bits, outputs + 8.0 * static_cast<double>(layer.layer.weights())) << "seed " << seed;
  }
}

TEST(SoundCost, FewerBitsAreNeverSlowerNorMoreTraffic) {
  for (std::uint64_t seed = 1; seed <= 300; ++seed) {
    Rng rng(seed);
    const bool depthwise = rng.chance(0.4);
    const SoundLayer layer = random_layer(rng, depthwise);
    const ChunkShape shape = random_shape(rng, depthwise);
    ChunkLayerCost before = sound_layer_cost(layer, shape, {2, 2});
    for (const int bits : {3, 4, 6, 8, 12, 16, 24, 32}) {
      const ChunkLayerCost now = sound_layer_cost(layer, shape, {bits, bits});
      EXPECT_LE(before.cycles, now.cycles) << "seed " << seed << " bits " << bits;
      EXPECT_LE(before.resources.dsp, now.resources.dsp) << "seed " << seed << " bits " << bits;
      EXPECT_LE(before.resources.dram_bits, now.resources.dram_bits) << "seed " << seed << " bits " << bits;
      EXPECT_LE(before.resources.bram18, now.resources.bram18) << "seed " << seed << " bits " << bits;
      before = now;
    }
  }
}

TEST(SoundCost, ATileLargerThanTheLayerIsOneTile) {
  const SoundLayer layer{same_convolution("l", 4, 6, 5, 3), false};
  const ChunkLayerCost exact = sound_layer_cost(layer, {1, 5, 5, 6, 4, 1, 1, 2, 2}, {8, 8});
  const ChunkLayerCost large = sound_layer_cost(layer, {1, 28, 28, 8, 8, 1, 1, 2, 2}, {8, 8});
  EXPECT_EQ(exact.cycles, large.cycles);
  EXPECT_EQ(exact.resources, large.resources);
  // 3 x 2 products of 25 x 9 steps, 20 to fill; in 4 x 7 x 7 words at 4 a cycle, weights 216 at 8 a cycle; out 150
  // words at 4 a cycle and 75 to clear.
  EXPECT_EQ(exact.cycles, 49 + (3 * 2 * 25 * 9 + 20) + 27 + (38 + 75));
}

TEST(SoundCost, StrideWidensTheInputTile) {
  const SoundLayer one{same_convolution("l", 4, 8, 16, 3, 1), false};
  const SoundLayer two{same_convolution("l", 4, 8, 32, 3, 2), false};
  const ChunkShape shape{1, 8, 8, 8, 4, 1, 1, 8, 4};
  EXPECT_EQ(sound_layer_cost(one, shape, {8, 8}).read_input, 4 * 10 * 10 / 8.0);
  EXPECT_EQ(sound_layer_cost(two, shape, {8, 8}).read_input, 145);  // 4 x 17 x 17 words, 8 a cycle
}

TEST(SoundCost, AddingASkipReadsTheOutputAgain) {
  SoundLayer layer{same_convolution("l", 8, 8, 16, 1), false};
  const ChunkShape shape{1, 8, 8, 8, 8, 1, 1, 8, 8};
  const ChunkLayerCost without = sound_layer_cost(layer, shape, {8, 8});
  layer.adds_skip = true;
  const ChunkLayerCost with = sound_layer_cost(layer, shape, {8, 8});
  EXPECT_EQ(with.resources.dram_bits - without.resources.dram_bits, 8 * 8 * 16 * 16);
  EXPECT_GT(with.cycles, without.cycles);
}

}  // namespace
}  // namespace kasimir
