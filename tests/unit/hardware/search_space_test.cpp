// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/space.h"
#include "unit/hardware/message_of.h"

#include <gtest/gtest.h>

#include <set>

namespace kasimir {
namespace {

TEST(MappingSpace, HasASlotForEachLevelsTimeAndEachDirectionOfItsGrid) {
  const CostModel model(matrix_product(4, 6, 8), preset("gemmini"));
  const MappingSpace space(model, {});
  std::vector<std::pair<int, LoopKind>> slots;
  for (const LoopSlot& slot : space.slots()) slots.emplace_back(slot.level, slot.kind);
  EXPECT_EQ(slots, (std::vector<std::pair<int, LoopKind>>{{0, LoopKind::temporal},
                                                          {1, LoopKind::temporal},
                                                          {1, LoopKind::spatial_x},
                                                          {2, LoopKind::temporal},
                                                          {2, LoopKind::spatial_x},
                                                          {3, LoopKind::temporal}}));
}

TEST(MappingSpace, ListsEveryFactorisationOnce) {
  const CostModel model(matrix_product(12, 1, 8), preset("vector_unit"));
  const MappingSpace space(model, {});
  // 12 = 2^2 * 3 over 3 times and 32 columns: C(5, 3) * 4
  EXPECT_EQ(space.factors(0).size(), 40U);
  EXPECT_EQ(space.factors(1).size(), 1U);
  EXPECT_EQ(space.factors(2).size(), 20U);
  EXPECT_EQ(space.size(), 40.0 * 20.0);
  const std::set<FactorVector> different(space.factors(0).begin(), space.factors(0).end());
  EXPECT_EQ(different.size(), 40U);
  for (const FactorVector& vector : space.factors(0))
    EXPECT_EQ(vector[0] * vector[1] * vector[2] * vector[3], 12) << vector[0];
}

TEST(MappingSpace, LetsOnlyDimensionsThatTheGridSharesRunAcross) {
  const CostModel model(matrix_product(4, 32, 8), preset("gemmini"));
  const MappingSpace space(model, {});
  std::int64_t widest_m = 1;
  std::int64_t widest_n = 1;
  for (const FactorVector& vector : space.factors(0)) widest_m = std::max(widest_m, vector[2]);
  for (const FactorVector& vector : space.factors(1)) widest_n = std::max(widest_n, vector[2]);
  EXPECT_EQ(widest_m, 1);  // the input depends on it
  EXPECT_EQ(widest_n, 16);
}

TEST(MappingSpace, ListsAllSubsetsOfKeepsIfAsked) {
  const CostModel model(matrix_product(4, 6, 8), preset("gemmini"));
  EXPECT_EQ(MappingSpace(model, {}).keeps(), std::vector<Keeps>{model.keepable});
  const MappingSpace space(model, {.bounds = {}, .search_keeps = true});
  // O: accumulator; I: scratchpad; W: scratchpad and register
  EXPECT_EQ(space.keeps().size(), 2U * 2U * 4U);
  EXPECT_EQ(space.keeps().front(), model.keepable);
  for (const Keeps& keeps : space.keeps())
    for (std::size_t t = 0; t < 3; ++t) EXPECT_EQ(keeps[t] & 1, 1);
}

TEST(MappingSpace, DrawsMappingsThatAreWellFormedAndCoverTheProblem) {
  constexpr std::uint64_t seed = 5;
  for (const std::string& name : preset_names()) {
    const CostModel model(convolution({.out_channels = 8,
                                       .in_channels = 6,
                                       .out_height = 5,
                                       .out_width = 4,
                                       .kernel_height = 3,
                                       .kernel_width = 3}),
                          preset(name));
    const MappingSpace space(model, {.bounds = {}, .search_keeps = true});
    Rng rng(seed);
    for (int i = 0; i < 50; ++i) {
      const Mapping mapping = space.random(rng);
      SCOPED_TRACE(fmt::format("{}, seed {}, number {}", name, seed, i));
      check_mapping(model.problem, model.architecture, mapping);
      const Evaluation evaluation = evaluate(model, mapping);
      for (int k = 0; k < evaluation.counts.violation_count; ++k) {
        const Constraint broken = evaluation.counts.violations[static_cast<std::size_t>(k)].constraint;
        EXPECT_TRUE(broken == Constraint::capacity || broken == Constraint::partition ||
                    broken == Constraint::fan_out_x || broken == Constraint::fan_out_y);
      }
    }
  }
}

TEST(MappingSpace, RefusesRulesThatDoNotApply) {
  const CostModel model(matrix_product(4, 6, 8), preset("vector_unit"));
  const auto message = [&](const SlotRule& rule) {
    return message_of([&] { MappingSpace(model, {.bounds = {rule}, .search_keeps = false}); });
  };
  EXPECT_EQ(message({.level = 3, .kind = LoopKind::temporal, .dim = 0, .bound = 2}),
            "a rule is for level 3, the architecture has 3");
  EXPECT_EQ(message({.level = 0, .kind = LoopKind::temporal, .dim = 7, .bound = 2}),
            "a rule is for dimension 7, the problem has 3");
  EXPECT_EQ(message({.level = 0, .kind = LoopKind::spatial_x, .dim = 0, .bound = 2}),
            "a rule is for the columns of level dram, which has none");
  EXPECT_EQ(message({.level = 2, .kind = LoopKind::spatial_y, .dim = 0, .bound = 2}),
            "a rule is for the rows of level registers, which has none");
  EXPECT_EQ(message({.level = 0, .kind = LoopKind::temporal, .dim = 0, .bound = 0}),
            "a rule wants bound 0 for M, at least 1 is needed");
  EXPECT_EQ(message({.level = 0, .kind = LoopKind::temporal, .dim = 0, .bound = 3}),
            "the rules leave no bounds for M, whose size is 4");
}

TEST(MappingSpace, RefusesDimensionsWithMoreFactorisationsThanItCanList) {
  const CostModel model(matrix_product(61917364224, 4, 4), preset("tpu_v1"));  // 2^20 * 3^10
  EXPECT_EQ(message_of([&] { MappingSpace(model, {}); }),
            "dimension M of size 61917364224 has more than 1000000 factorisations over 7 places for loops\n"
            "  fix some of its bounds by rules");
}

TEST(MappingSpace, ListsLargeDimensionsByTheirDivisors) {
  const CostModel model(matrix_product(1000003, 4, 4), preset("vector_unit"));  // a prime
  EXPECT_EQ(MappingSpace(model, {}).factors(0).size(), 3U);
}

}  // namespace
}  // namespace kasimir
