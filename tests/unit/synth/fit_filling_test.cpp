// SPDX-License-Identifier: Apache-2.0
// Values between lanes where these leave much of the budget, and widths that are balanced across sites.
#include "unit/synth/by_hand.h"

#include <gtest/gtest.h>

#include <limits>

namespace kasimir {
namespace {

using testing::ByHand;
using testing::conv_load;
using testing::plain;
using testing::x0;
using testing::x1;

TEST(FitProblem, TakesFinerValuesWhereTheLaneLeavesMuchOfTheBudget) {
  for (const auto& [enough, width] : std::vector<std::pair<double, std::int64_t>>{
           {0.0, 24}, {0.77, 24}, {0.78, 28}, {0.9, 28}, {0.91, 30}, {0.96, 30}, {0.97, 31}}) {
    ByHand hand({plain});
    hand.cost(CostKind::params, x0, 640);
    EXPECT_EQ(hand.solve("params=..0.54", {.lane = 8, .enough_use = enough}), "solved");  // 31.1
    EXPECT_EQ(hand.x(0), width) << enough;
  }
}

TEST(FitProblem, TakesFinerValuesOnlyWhereTheyAreNeeded) {
  // 24 of 24.4 at the first site, 24 of 28.8 at the second.
  ByHand hand({plain, conv_load({64, 64, 4, 4, 1})});
  hand.problem.add_cost(CostKind::params, x0, std::vector<double>{755, 640});
  EXPECT_EQ(hand.solve("params=..0.5", {.enough_use = 0.98}), "solved");
  EXPECT_EQ(hand.x(0, 0), 24);
  EXPECT_EQ(hand.x(0, 1), 28);
}

TEST(FitProblem, KeepsValuesOnTheLaneThatCostNothing) {
  ByHand hand({plain}, 3);
  hand.cost(CostKind::params, x0, 640);
  hand.problem.limit_volume(x1, std::vector<double>{1});
  EXPECT_EQ(hand.solve("params=..0.5", {.lane = 8, .most_elements = 101}), "solved");
  EXPECT_EQ(hand.x(0), 28);
  EXPECT_EQ(hand.x(1), 96);
}

TEST(FitProblem, KeepsNoSiteMuchWiderThanTheNarrowest) {
  // 16 of 18.4 at the first site; up to 96 of 102 at the second, four times the ratio to Co.
  const std::vector<SiteLoad> sites{plain, conv_load({64, 64, 4, 4, 1})};
  const auto widths = [&](const std::string& budget, const SolverOptions& options) {
    ByHand hand(sites);
    hand.problem.add_cost(CostKind::params, x0, std::vector<double>{1000, 180});
    EXPECT_EQ(hand.solve(budget, options), "solved");
    return std::pair(hand.x(0, 0), hand.x(0, 1));
  };
  const SolverOptions any{.enough_use = 0.0, .most_imbalance = std::numeric_limits<double>::infinity()};
  const SolverOptions three{.enough_use = 0.0, .most_imbalance = 3.0};
  const SolverOptions two{.enough_use = 0.0};
  EXPECT_EQ(widths("params=..0.5", any), std::pair(std::int64_t{16}, std::int64_t{96}));
  EXPECT_EQ(widths("params=..0.5", three), std::pair(std::int64_t{16}, std::int64_t{48}));
  EXPECT_EQ(widths("params=..0.5", two), std::pair(std::int64_t{16}, std::int64_t{32}));
  // 32 would be 0.16 of what is replaced there.
  EXPECT_EQ(widths("params=0.2..0.5", two), std::pair(std::int64_t{16}, std::int64_t{96}));
}

}  // namespace
}  // namespace kasimir
