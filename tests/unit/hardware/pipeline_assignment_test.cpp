// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/pipeline/assignment.h"

#include "kasimir/base/rng.h"
#include "kasimir/hardware/pipeline/nba_search.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace kasimir {
namespace {

using testing::thrown_by;

constexpr double infinity = std::numeric_limits<double>::infinity();

ChunkSpace small_space(bool depthwise) {
  ChunkSpace space;
  space.depthwise = depthwise;
  space.modes = {0, 1};
  space.tile_rows = space.tile_cols = {4};
  space.rows = space.cols = {1, 4};
  space.tile_out = {8};
  space.out = {8, 2};
  space.tile_in = space.in = depthwise ? std::vector<int>{1} : std::vector<int>{8, 2};
  return space;
}

std::vector<Placed<PaperLayer>> random_layers(Rng& rng, std::size_t count) {
  std::vector<Placed<PaperLayer>> layers;
  for (std::size_t i = 0; i < count; ++i) {
    const bool depthwise = rng.chance(0.3);
    const double channels = 8.0 * static_cast<double>(rng.between(1, 6));
    const int bits = rng.chance(0.5) ? 8 : 4;
    layers.push_back(
        {{depthwise ? 1 : channels, 8.0 * static_cast<double>(rng.between(1, 6)), 8, depthwise ? 3.0 : 1.0, depthwise},
         bits,
         0});
  }
  return layers;
}

// The best over every map of layers to chunks and every shape of each, without any of the solver's parts.
double brute_force(const std::vector<Placed<PaperLayer>>& layers, const AssignmentSpace& space,
                   const ResourceBudget& budget, std::size_t chunks) {
  std::vector<std::size_t> chunk_of(layers.size(), 0);
  double best = infinity;
  const std::vector<ChunkShape> standard = every_shape(space.standard[0]), dw = every_shape(space.depthwise[0]);
  const std::function<void(std::size_t, double, double, double)> place = [&](std::size_t chunk, double slowest,
                                                                             double dsp, double bram) {
    if (slowest >= best || dsp > budget.dsp || bram > budget.bram18) return;
    if (chunk == chunks) {
      best = slowest;
      return;
    }
    std::vector<std::size_t> group;
    for (std::size_t i = 0; i < layers.size(); ++i)
      if (chunk_of[i] == chunk) group.push_back(i);
    if (group.empty()) return place(chunk + 1, slowest, dsp, bram);
    int bits = 0;
    for (const std::size_t i : group) {
      if (layers[i].layer.depthwise != layers[group[0]].layer.depthwise) return;
      bits = std::max(bits, layers[i].bits);
    }
    for (const ChunkShape& shape : layers[group[0]].layer.depthwise ? dw : standard) {
      ChunkCost cost;
      for (const std::size_t i : group) cost.add(paper_layer_cost(layers[i].layer, shape, bits));
      place(chunk + 1, std::max(slowest, cost.cycles()), dsp + cost.resources().dsp, bram + cost.resources().bram18);
    }
  };
  for (;;) {
    place(0, 0, 0, 0);
    std::size_t i = 0;
    while (i < layers.size() && ++chunk_of[i] == chunks) chunk_of[i++] = 0;
    if (i == layers.size()) return best;
  }
}

TEST(Assignment, AgreesWithEveryMapOfLayersToChunks) {
  const AssignmentSpace space{{small_space(false)}, {small_space(true)}};
  std::size_t found = 0;
  for (std::uint64_t seed = 1; seed <= 40; ++seed) {
    Rng rng(seed);
    const auto layers = random_layers(rng, 4);
    const ResourceBudget budget{static_cast<double>(rng.between(4, 60)), static_cast<double>(rng.between(20, 120)),
                                infinity, infinity};
    const std::size_t chunks = 3;
    const double best = brute_force(layers, space, budget, chunks);
    const AssignmentAnswer answer = assign_layers(layers, space, budget, {.max_chunks = chunks});
    ASSERT_EQ(answer.found, std::isfinite(best)) << "seed " << seed;
    EXPECT_TRUE(answer.exhaustive) << "seed " << seed;
    if (!answer.found) {
      EXPECT_FALSE(answer.violated.empty()) << "seed " << seed;
      continue;
    }
    ++found;
    EXPECT_EQ(answer.cycles, best) << "seed " << seed;
    EXPECT_EQ(answer.gap(), 0) << "seed " << seed;
    // Without the enumeration: never better than the optimum, and the bound never above it.
    const AssignmentAnswer climbed =
        assign_layers(layers, space, budget, {.max_chunks = chunks, .evaluations = 30, .exact_limit = 0});
    EXPECT_FALSE(climbed.exhaustive) << "seed " << seed;
    EXPECT_GE(climbed.cycles, best) << "seed " << seed;
    EXPECT_LE(climbed.lower_bound, best * (1 + 1e-9)) << "seed " << seed;
    EXPECT_GT(climbed.lower_bound, 0) << "seed " << seed;
  }
  EXPECT_GT(found, 20U);
}

// The chunks hold every layer once, and their costs are what the evaluator says.
void expect_consistent(const AssignmentAnswer& answer, const std::vector<Placed<PaperLayer>>& layers,
                       const ResourceBudget& budget) {
  std::vector<int> seen(layers.size(), 0);
  Resources used;
  double slowest = 0;
  for (const AssignedChunk& chunk : answer.chunks) {
    ChunkCost cost;
    for (const std::size_t i : chunk.layers) {
      ++seen[i];
      EXPECT_EQ(layers[i].layer.depthwise, chunk.depthwise);
      EXPECT_LE(layers[i].bits, chunk.bits);
      cost.add(paper_layer_cost(layers[i].layer, chunk.shape, chunk.bits));
    }
    EXPECT_NEAR(cost.cycles(), chunk.cycles, 1e-9 * chunk.cycles);
    EXPECT_EQ(cost.resources(), chunk.resources);
    used = used + cost.resources();
    slowest = std::max(slowest, cost.cycles());
  }
  EXPECT_EQ(std::count(seen.begin(), seen.end(), 1), static_cast<std::ptrdiff_t>(seen.size()));
  EXPECT_NEAR(slowest, answer.cycles, 1e-9 * slowest);
  EXPECT_TRUE(violations(used, slowest, budget).empty());
}

TEST(Assignment, BeatsTheReleasedRuleWithAsManyChunks) {
  NbaQuestion question;
  question.network = nba_example(NbaInput::cifar);
  const NbaSolution rule = solve_nba(question);
  const auto layers = paper_layers(question.network);
  const AssignmentSpace spaces = nba_spaces(NbaInput::cifar, false);
  const AssignmentLimits limits{.max_chunks = rule.problem.options.size(), .evaluations = 60};
  const AssignmentAnswer answer = assign_layers(layers, spaces, question.budget, limits);
  ASSERT_TRUE(answer.found);
  EXPECT_LT(answer.cycles, rule.answer.cycles / 2);
  EXPECT_LE(answer.lower_bound, answer.cycles);
  EXPECT_GT(answer.lower_bound, answer.cycles / 3);
  EXPECT_LE(answer.chunks.size(), limits.max_chunks);
  expect_consistent(answer, layers, question.budget);
  const AssignmentAnswer again = assign_layers(layers, spaces, question.budget, limits);
  EXPECT_EQ(again.by_chunks, answer.by_chunks);
}

TEST(Assignment, WithOneBitWidthThereMayStillBeManyChunks) {
  NbaNetwork network = nba_example(NbaInput::cifar);
  network.bits.assign(22, 8);
  NbaQuestion question;
  question.network = network;
  const double rule = solve_nba(question).answer.cycles;
  const auto layers = paper_layers(network);
  const AssignmentAnswer answer =
      assign_layers(layers, nba_spaces(NbaInput::cifar, false), question.budget, {.max_chunks = 10, .evaluations = 60});
  ASSERT_TRUE(answer.found);
  EXPECT_GT(answer.chunks.size(), 4U);
  EXPECT_LT(answer.cycles, rule / 2);
  expect_consistent(answer, layers, question.budget);
}

TEST(Assignment, AnyListOfLayersGetsAPipelineOnABoard) {
  const std::vector<ConvLayer> layers{same_convolution("stem", 3, 16, 32, 3), same_convolution("a", 16, 32, 32, 3, 2),
                                      same_convolution("dw", 32, 32, 16, 3, 1, 32),
                                      same_convolution("b", 32, 64, 16, 1), fully_connected("head", 64, 10)};
  std::vector<Placed<SoundLayer>> placed = placed_layers(layers);
  for (auto& one : placed) one.bits = 8;
  placed[3].bits = 4;
  const ResourceBudget budget = budget_of(board_named("Ultra96"));
  const AssignmentAnswer answer = assign_layers(placed, general_spaces(), budget, {.max_chunks = 4});
  ASSERT_TRUE(answer.found);
  EXPECT_TRUE(answer.exhaustive);
  EXPECT_TRUE(violations(answer.resources, answer.cycles * (1 + 1e-9), budget).empty());
  Resources used;
  double slowest = 0;
  for (const AssignedChunk& chunk : answer.chunks) {
    ChunkCost cost;
    cost.add_overhead(chunk_address_dsp);
    for (const std::size_t i : chunk.layers)
      cost.add(sound_layer_cost(placed[i].layer, chunk.shape, {chunk.bits, chunk.bits}));
    EXPECT_EQ(cost.resources(), chunk.resources);
    used = used + cost.resources();
    slowest = std::max(slowest, cost.cycles());
  }
  EXPECT_EQ(used, answer.resources);
  EXPECT_NEAR(answer.cycles, std::max(slowest, used.dram_bits / budget.dram_bits_per_cycle), 1e-6 * answer.cycles);
  const AssignmentAnswer fewer = assign_layers(placed, general_spaces(), budget, {.max_chunks = 2});
  EXPECT_GE(fewer.cycles, answer.cycles);
}

TEST(Assignment, RefusesQuestionsWithoutLayersOrRoom) {
  const AssignmentSpace spaces = nba_spaces(NbaInput::cifar, false);
  EXPECT_EQ(
      thrown_by([&] { return assign_layers(std::vector<Placed<PaperLayer>>{}, spaces, auto_nba_budget(), {}).found; }),
      "2: no layers to put on chunks");
  EXPECT_EQ(thrown_by([&] {
              return assign_layers(paper_layers(nba_example(NbaInput::cifar)), spaces, auto_nba_budget(),
                                   {.max_chunks = 1})
                  .found;
            }),
            "2: 1 chunks, needed: at least 2 for the types of these layers");
  EXPECT_EQ(thrown_by([&] {
              return assign_layers(paper_layers(nba_example(NbaInput::cifar)), {spaces.standard, {}}, auto_nba_budget(),
                                   {})
                  .found;
            }),
            "2: no shapes for depthwise chunks");
}

}  // namespace
}  // namespace kasimir
