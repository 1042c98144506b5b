// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/branch_and_bound.h"
#include "kasimir/hardware/search/engines.h"
#include "unit/hardware/search_oracle.h"

#include <gtest/gtest.h>

#include <set>

namespace kasimir {
namespace {

SearchOptions asking(const Goal& goal) {
  SearchOptions options;
  options.goal = goal;
  return options;
}

OrderClass relaxed_class(const CostModel& model) {
  return OrderClass(static_cast<std::size_t>(model.levels), LevelOrder{{}, true, true, -1});
}

/// The rows of one mapping's choices, multiplied.
std::vector<double> components_of(ProductCosts& costs, const OrderClass& orders, const Mapping& mapping) {
  std::vector<double> product(costs.components(), 1.0);
  for (std::size_t g = 0; g < costs.groups().size(); ++g) {
    const FactorTable table = costs.select(g, orders, {costs.choice_of(g, mapping)});
    if (table.rows == 0) return {};
    for (std::size_t c = 0; c < product.size(); ++c) product[c] *= table.column(c)[0];
  }
  return product;
}

bool fits_group_by_group(ProductCosts& costs, const Mapping& mapping) {
  for (std::size_t g = 0; g < costs.groups().size(); ++g) {
    const std::vector<std::uint32_t>& choices = costs.choices(g);
    if (!std::binary_search(choices.begin(), choices.end(), costs.choice_of(g, mapping))) return false;
  }
  return true;
}

/// What the tree of orders relies on: an order that is not decided costs no more than any that is.
TEST(RelaxedOrders, CostNoMoreThanAnyOrderInEveryComponent) {
  constexpr std::uint64_t seed = 21;
  int compared = 0;
  for (const Problem& problem : small_problems())
    for (std::uint64_t i = 0; i < 60 && !HasFailure(); ++i) {
      Rng rng(seed, i);
      EvaluationOptions options;
      if (rng.chance(0.3)) options.footprint = FootprintRule::bounding_box;
      const CostModel model(problem, small_architecture(rng), options);
      const MappingSpace space(model, {.bounds = {}, .search_keeps = true});
      const Mapping mapping = space.random(rng);
      ProductCosts costs(model, space, mapping.keeps, {});
      if (!costs.usable() || !fits_group_by_group(costs, mapping)) continue;
      SCOPED_TRACE(
          fmt::format("seed {}, stream {}\n{}\n{}", seed, i, str(problem), str(mapping, problem, model.architecture)));
      OrderClass orders = order_class_of(model, mapping);
      const std::vector<double> decided = components_of(costs, orders, mapping);
      // relaxed from the inside outwards, as the tree has it
      for (std::size_t l = orders.size(); l-- > 0;) {
        orders[l] = relaxed_class(model)[l];
        const std::vector<double> relaxed = components_of(costs, orders, mapping);
        for (std::size_t c = 0; c < decided.size(); ++c) EXPECT_LE(relaxed[c], decided[c] * (1 + 1e-12)) << c;
        ++compared;
      }
    }
  EXPECT_GT(compared, 500);
}

/// A space with the bound of all of its mappings, orders relaxed, and the tables that it reads.
struct AllMappings {
  AllMappings(const CostModel& model, const Goal& goal)
      : space(model, {}),
        costs(model, space, space.keeps().front(), goal),
        form(costs.form()),
        bound(form, model, costs.components(), goal) {
    for (std::size_t g = 0; g < costs.groups().size(); ++g)
      tables.push_back(costs.select(g, relaxed_class(model), costs.choices(g)));
  }
  MappingSpace space;
  ProductCosts costs;
  PriceForm form;
  LogBound bound;
  std::vector<FactorTable> tables;
};

/// The bound of all mappings of a space, and what is left of them, against the best mapping.
TEST(LogBound, IsNoMoreThanTheOptimumAndDropsNoRowOfIt) {
  constexpr std::uint64_t seed = 22;
  int compared = 0;
  double tightness = 0;
  for (const Problem& problem : small_problems())
    for (std::uint64_t i = 0; i < 24 && !HasFailure(); ++i) {
      SCOPED_TRACE(fmt::format("seed {}, stream {}, {}", seed, i, str(problem)));
      Rng rng(seed, i);
      Architecture architecture = small_architecture(rng);
      EvaluationOptions options;
      if (rng.chance(0.3)) options.max_power_mw = architecture.leakage_mw() + 20;
      const CostModel model(problem, architecture, options);
      const Goal goal{.objective = static_cast<Objective>(rng.below(4)), .pj_per_cycle = 50};
      const SearchAnswer best = search_mapping(model, "exhaustive", asking(goal));
      if (!best.found) continue;
      AllMappings all(model, goal);
      auto& [space, costs, form, bound, tables] = all;
      std::vector<double> point;
      const double cut = best.value * 1.0001;
      const auto result = bound.tighten(tables, point, 20, [&] { return cut; }, [](const auto&) {});
      EXPECT_FALSE(result.beaten);
      EXPECT_LE(result.bound, best.value * (1 + 1e-9));
      EXPECT_GE(result.dropped, cut * (1 - 1e-9));
      for (std::size_t g = 0; g < tables.size(); ++g)
        EXPECT_EQ(std::ranges::count(tables[g].choice, costs.choice_of(g, best.mapping)), 1) << g;
      tightness += result.bound / best.value;
      ++compared;
    }
  ASSERT_GT(compared, 60);
  EXPECT_GT(tightness / compared, 0.5);
}

/// What decides columns and rows before orders: the ways part a group's choices, and no way of the best mapping has a
/// bound above its value.
TEST(LogBound, OfAWayToSpreadLoopsIsNoMoreThanTheBestMappingThere) {
  constexpr std::uint64_t seed = 23;
  int compared = 0;
  std::size_t ways_seen = 0;
  for (const Problem& problem : small_problems())
    for (std::uint64_t i = 0; i < 24 && !HasFailure(); ++i) {
      SCOPED_TRACE(fmt::format("seed {}, stream {}, {}", seed, i, str(problem)));
      Rng rng(seed, i);
      const CostModel model(problem, small_architecture(rng), {});
      const Goal goal{.objective = static_cast<Objective>(rng.below(4)), .pj_per_cycle = 50};
      const SearchAnswer best = search_mapping(model, "exhaustive", asking(goal));
      if (!best.found) continue;
      AllMappings all(model, goal);
      auto& [space, costs, form, bound, tables] = all;
      const std::vector<double> point(costs.components(), rng.unit());
      const std::vector<std::vector<double>> rows = bound.row_bounds(tables, point);
      for (std::size_t g = 0; g < tables.size(); ++g) {
        const std::uint32_t own = costs.choice_of(g, best.mapping);
        std::set<std::uint32_t> ways;
        double least = Goal::unlimited;
        for (std::size_t r = 0; r < tables[g].rows; ++r) {
          ways.insert(costs.place_of(g, tables[g].choice[r]));
          if (costs.place_of(g, tables[g].choice[r]) == costs.place_of(g, own)) least = std::min(least, rows[g][r]);
        }
        EXPECT_LE(bound.value_of_log(least), best.value * (1 + 1e-9)) << g;
        ways_seen = std::max(ways_seen, ways.size());
      }
      ++compared;
    }
  ASSERT_GT(compared, 60);
  EXPECT_GT(ways_seen, 3U);
}

TEST(BranchAndBound, AnswersSeveralQuestionsAsWellAsOne) {
  const CostModel model(matrix_product(8, 6, 12), preset("eyeriss_row_stationary"));
  BranchAndBound search(model, {});
  for (const Objective objective : {Objective::energy, Objective::latency, Objective::energy_delay}) {
    const SearchOptions options = asking({.objective = objective});
    const SearchAnswer one = search_mapping(model, "branch_and_bound", options);
    const SearchAnswer several = search.run(options);
    ASSERT_TRUE(several.optimal()) << name_of(objective);
    EXPECT_NEAR(several.value, one.value, 1e-9 * one.value);
  }
}

TEST(SearchOptions, WidenTheSpaceOnlyWhereNothingFits) {
  // the register of gemmini holds 16 bits: a weight of 32 fits only if it passes by
  const Problem wide = parse_problem("O[m,n] += I[m,k] * W[k,n] for m=8 n=8 k=8 with W:32");
  SearchOptions options;
  options.widen = true;
  const SearchAnswer found = search_mapping(CostModel(wide, preset("gemmini")), "branch_and_bound", options);
  EXPECT_TRUE(found.found);
  EXPECT_TRUE(found.widened);
  EXPECT_FALSE(search_mapping(CostModel(wide, preset("gemmini")), "branch_and_bound", {}).found);
  const SearchAnswer narrow =
      search_mapping(CostModel(matrix_product(8, 8, 8), preset("gemmini")), "branch_and_bound", options);
  EXPECT_TRUE(narrow.found);
  EXPECT_FALSE(narrow.widened);
}

}  // namespace
}  // namespace kasimir
