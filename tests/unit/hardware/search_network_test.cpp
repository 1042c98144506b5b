// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/search.h"
#include "unit/hardware/message_of.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

Problem square_convolution(std::int64_t out, std::int64_t in, std::int64_t size, std::int64_t kernel,
                           std::int64_t stride) {
  return convolution({.out_channels = out,
                      .in_channels = in,
                      .out_height = size,
                      .out_width = size,
                      .kernel_height = kernel,
                      .kernel_width = kernel,
                      .stride_height = stride,
                      .stride_width = stride});
}

/// He et al., CVPR 2016, table 1: 224 x 224, with the projections of option B.
std::vector<Problem> resnet18() {
  std::vector<Problem> layers{square_convolution(64, 3, 112, 7, 2)};
  for (int i = 0; i < 4; ++i) layers.push_back(square_convolution(64, 64, 56, 3, 1));
  for (std::int64_t stage = 1; stage < 4; ++stage) {
    const std::int64_t width = 64 << stage;
    const std::int64_t size = 56 >> stage;
    layers.push_back(square_convolution(width, width / 2, size, 3, 2));
    layers.push_back(square_convolution(width, width / 2, size, 1, 2));
    for (int i = 0; i < 3; ++i) layers.push_back(square_convolution(width, width, size, 3, 1));
  }
  layers.push_back(matrix_product(1, 1000, 512));
  return layers;
}

TEST(SearchNetwork, ProvesTheBestMappingsOfResNet18OnGemmini) {
  const NetworkAnswer answer = search_network(resnet18(), preset("gemmini"), {}, "branch_and_bound", {});
  ASSERT_TRUE(answer.found);
  ASSERT_EQ(answer.layers.size(), 21U);
  EXPECT_LE(answer.gap(), 1e-9);
  for (const SearchAnswer& layer : answer.layers) EXPECT_LE(layer.gap(), 1e-9);
  // 1,814,073,344 products in 256 units; the first layer has 3 input channels for 16 rows, the last is bound by DRAM
  EXPECT_GT(answer.cycles, 1814073344.0 / 256);
  EXPECT_LT(answer.cycles, 1.1 * 1814073344.0 / 256);
}

TEST(SearchNetwork, SearchesEqualLayersOnce) {
  const std::vector<Problem> layers(5, square_convolution(16, 16, 8, 3, 1));
  SearchOptions options;
  options.goal.objective = Objective::latency;
  const NetworkAnswer five = search_network(layers, preset("gemmini"), {}, "branch_and_bound", options);
  const NetworkAnswer one = search_network({layers[0]}, preset("gemmini"), {}, "branch_and_bound", options);
  EXPECT_EQ(five.evaluations, one.evaluations);
  EXPECT_EQ(five.cycles, 5 * one.cycles);
  EXPECT_EQ(five.lower_bound, 5 * one.lower_bound);
}

/// Cycles and energy of a layer pull apart where lanes that run side by side ask for more words.
TEST(SearchNetwork, BalancesEnergyAndCyclesOfTheSum) {
  const std::vector<Problem> layers{matrix_product(16, 24, 36), matrix_product(8, 64, 8), matrix_product(48, 4, 12)};
  const Architecture architecture = preset("vector_unit");
  const auto run = [&](const Goal& goal) {
    SearchOptions options;
    options.goal = goal;
    return search_network(layers, architecture, {}, "branch_and_bound", options);
  };
  const NetworkAnswer fast = run({.objective = Objective::latency});
  const NetworkAnswer frugal = run({.objective = Objective::energy});
  const NetworkAnswer both = run({.objective = Objective::energy_delay});
  EXPECT_EQ(fast.gap(), 0);
  EXPECT_LT(frugal.gap(), 1e-9);
  EXPECT_GE(both.cycles, fast.cycles);
  EXPECT_GE(both.energy_pj, frugal.energy_pj * (1 - 1e-12));
  EXPECT_LE(both.value, fast.cycles * fast.energy_pj * (1 + 1e-12));
  EXPECT_LE(both.value, frugal.cycles * frugal.energy_pj * (1 + 1e-12));
  EXPECT_GE(both.lower_bound, fast.cycles * frugal.energy_pj * (1 - 1e-12));
  EXPECT_LE(both.lower_bound, both.value);
  EXPECT_LT(both.gap(), 0.05);
  // the least energy that is as fast as the balanced answer
  const NetworkAnswer limited = run({.objective = Objective::energy, .max_cycles = both.cycles});
  ASSERT_TRUE(limited.found);
  EXPECT_LE(limited.cycles, both.cycles);
  EXPECT_GE(limited.energy_pj, frugal.energy_pj * (1 - 1e-12));
  EXPECT_LE(limited.lower_bound, limited.value);
}

TEST(SearchNetwork, SaysWhichLimitOrLayerDoesNotFit) {
  SearchOptions options;
  options.goal = {.objective = Objective::energy, .max_cycles = 10};
  const NetworkAnswer slow = search_network({matrix_product(4, 4, 4), matrix_product(8, 8, 8)}, preset("gemmini"), {},
                                            "branch_and_bound", options);
  EXPECT_FALSE(slow.found);
  EXPECT_EQ(
      slow.misfit,
      fmt::format("the layers take {:.0f} cycles at least as far as was looked, the limit is 10 cycles", slow.cycles));
  Architecture tight = preset("gemmini");
  tight.levels[2].capacity_bits = 4;
  const NetworkAnswer misfit = search_network({matrix_product(4, 4, 4)}, tight, {}, "branch_and_bound", {});
  EXPECT_FALSE(misfit.found);
  EXPECT_EQ(misfit.misfit.substr(0, 32), "layer 0: no mapping fits: 100 % ");
  EXPECT_NE(misfit.misfit.find("capacity of accumulator"), std::string::npos);
}

TEST(SearchNetwork, RefusesAnEmptyNetwork) {
  EXPECT_EQ(message_of([] { search_network({}, preset("gemmini"), {}, "random", {}); }),
            "a network without layers has nothing to map");
}

}  // namespace
}  // namespace kasimir
