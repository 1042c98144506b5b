// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/architectures.h"
#include "unit/hardware/message_of.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

std::vector<Problem> layers() {
  return {convolution({.out_channels = 16,
                       .in_channels = 8,
                       .out_height = 8,
                       .out_width = 8,
                       .kernel_height = 3,
                       .kernel_width = 3}),
          matrix_product(8, 32, 64)};
}

/// A systolic array whose numbers all matter: areas of memories from their size.
Architecture base() {
  Architecture architecture = preset("systolic_ws");
  architecture.levels[1].area_um2_per_kib = 5000;
  return architecture;
}

std::vector<ArchitectureKnob> knobs() {
  return {{.kind = KnobKind::columns, .level = 1, .values = {4, 8, 16}},
          {.kind = KnobKind::rows, .level = 1, .values = {4, 8}},
          {.kind = KnobKind::partition, .level = 1, .role = OperandRole::weight, .values = {1024, 8192, 65536}}};
}

/// What going through all designs one by one finds.
double best_of_all(double area, std::size_t& within) {
  double least = Goal::unlimited;
  within = 0;
  const std::vector<ArchitectureKnob> all = knobs();
  for (const double columns : all[0].values)
    for (const double rows : all[1].values)
      for (const double weights : all[2].values) {
        const Architecture architecture = with_knobs(base(), all, {columns, rows, weights});
        if (architecture.area_um2() > area) continue;
        ++within;
        const NetworkAnswer network = search_network(layers(), architecture, {}, "branch_and_bound", {});
        if (network.found) least = std::min(least, network.value);
      }
  return least;
}

TEST(SearchArchitecture, FindsTheBestDesignWithinTheArea) {
  const double area = with_knobs(base(), knobs(), {8, 8, 8192}).area_um2();
  std::size_t within = 0;
  const double least = best_of_all(area, within);
  DesignOptions options;
  options.budget.area_um2 = area;
  const DesignAnswer answer = search_architecture(layers(), base(), knobs(), {}, options);
  ASSERT_TRUE(answer.found);
  EXPECT_TRUE(answer.complete);
  EXPECT_EQ(answer.designs, 18U);
  EXPECT_EQ(answer.over_budget, 18U - within);
  EXPECT_EQ(answer.searched + answer.beaten, within);
  EXPECT_NEAR(answer.value, least, 1e-9 * least);
  EXPECT_LE(answer.best.area_um2, area);
  EXPECT_LE(answer.lower_bound, answer.value);
  EXPECT_LT(answer.gap(), 0.02);
}

TEST(SearchArchitecture, ListsAFrontOfWhichNoPointBeatsAnother) {
  const DesignAnswer answer = search_architecture(layers(), base(), knobs(), {}, {});
  ASSERT_GE(answer.front.size(), 2U);
  for (const DesignPoint& a : answer.front) {
    for (const DesignPoint& b : answer.front)
      EXPECT_FALSE(&a != &b && a.cycles <= b.cycles && a.energy_pj <= b.energy_pj && a.area_um2 <= b.area_um2);
    // each point is what its mappings cost
    const Architecture architecture = with_knobs(base(), knobs(), a.values);
    double cycles = 0;
    for (std::size_t i = 0; i < layers().size(); ++i)
      cycles += evaluate(CostModel(layers()[i], architecture), a.mappings[i]).cycles;
    EXPECT_EQ(cycles, a.cycles);
    EXPECT_EQ(architecture.area_um2(), a.area_um2);
  }
  EXPECT_LT(answer.front.front().cycles, answer.front.back().cycles);
}

TEST(SearchArchitecture, IsTheSameEachTimeAndStopsWithTheBestSoFar) {
  const DesignAnswer whole = search_architecture(layers(), base(), knobs(), {}, {});
  const DesignAnswer again = search_architecture(layers(), base(), knobs(), {}, {});
  EXPECT_EQ(whole.best.values, again.best.values);
  EXPECT_EQ(whole.evaluations, again.evaluations);
  std::size_t done = 0;
  DesignOptions options;
  options.progress = [&](const DesignProgress& progress) { done = progress.done; };
  options.mapping.should_stop = [&] { return done >= 2; };
  const DesignAnswer stopped = search_architecture(layers(), base(), knobs(), {}, options);
  EXPECT_EQ(done, 2U);
  EXPECT_TRUE(stopped.found);
  EXPECT_FALSE(stopped.complete);
  EXPECT_GE(stopped.value, whole.value * (1 - 1e-12));
  EXPECT_LE(stopped.lower_bound, whole.value * (1 + 1e-12));
}

TEST(SearchArchitecture, CountsDspOfAllUnits) {
  Architecture fpga = base();
  fpga.compute.engine = MacEngine::dsp48;
  DesignOptions options;
  options.mapping.goal.objective = Objective::latency;
  options.budget.dsp = 64 * mac_cost(fpga.compute, 8, 8).dsp;
  const DesignAnswer answer = search_architecture(layers(), fpga, knobs(), {}, options);
  ASSERT_TRUE(answer.found);
  EXPECT_EQ(answer.best.dsp, options.budget.dsp);
  EXPECT_EQ(answer.best.values[0] * answer.best.values[1], 64);
  EXPECT_EQ(answer.over_budget, 3U);  // 16 x 8
}

TEST(SearchArchitecture, SaysHowFarTheNearestDesignIsOverTheBudget) {
  DesignOptions options;
  options.budget.area_um2 = 1000;
  const DesignAnswer answer = search_architecture(layers(), base(), knobs(), {}, options);
  EXPECT_FALSE(answer.found);
  const double nearest = with_knobs(base(), knobs(), {4, 4, 1024}).area_um2();
  EXPECT_EQ(
      answer.misfit,
      fmt::format("all 18 designs are over the budget, 18 of them in area um2; nearest: columns of sram 4, rows of "
                  "sram 4, capacity of sram for weights 128 B\n  area um2 {:.6g}, the budget is 1000",
                  nearest));
}

TEST(SearchArchitecture, RefusesKnobsThatDoNotApply) {
  const auto message = [](const ArchitectureKnob& knob) {
    return message_of([&] { search_architecture(layers(), base(), {knob}, {}, {}); });
  };
  EXPECT_EQ(message({.kind = KnobKind::columns, .level = 3, .values = {4}}),
            "a knob is for level 3, the architecture has 3");
  EXPECT_EQ(message({.kind = KnobKind::columns, .level = 1, .values = {2.5}}),
            "columns of sram cannot be 2.5: a whole number above 0 is needed");
  EXPECT_EQ(message({.kind = KnobKind::capacity, .level = 1, .values = {-1}}),
            "capacity of sram cannot be -1: a finite number above 0 is needed");
  EXPECT_EQ(message({.kind = KnobKind::capacity, .level = 1, .values = {}}),
            "the values of the knobs make no designs, 1 to 100000 can be searched");
  EXPECT_EQ(message_of([] { search_architecture({}, base(), {}, {}, {}); }),
            "a network without layers has nothing to map");
}

}  // namespace
}  // namespace kasimir
