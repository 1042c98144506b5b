// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/product_costs.h"
#include "unit/hardware/search_oracle.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

/// One mapping by the tabulated evaluator.
struct Priced {
  bool tabulated = false;  ///< its groups fit by themselves
  bool fits = false;
  double cycles = 0;
  double energy_pj = 0;
};

Priced price_one(ProductCosts& costs, const OrderClass& orders, const Mapping& mapping) {
  std::vector<double> product(costs.components(), 1.0);
  PricedBlock block;
  Priced priced;
  for (std::size_t g = 0; g < costs.groups().size(); ++g) {
    const FactorTable& table = costs.table(g, orders, false);
    const auto found = std::lower_bound(table.choice.begin(), table.choice.end(), costs.choice_of(g, mapping));
    if (found == table.choice.end() || *found != costs.choice_of(g, mapping)) return priced;
    const auto row = static_cast<std::size_t>(found - table.choice.begin());
    if (g + 1 == costs.groups().size()) costs.price(product.data(), table, row, 1, block);
    for (std::size_t c = 0; c < product.size(); ++c) product[c] *= table.column(c)[row];
  }
  priced.tabulated = true;
  priced.fits = block.overshoot[0] <= 1 + 1e-9;
  priced.cycles = block.cycles[0];
  priced.energy_pj = block.energy_pj[0];
  return priced;
}

ConvolutionShape random_shape(Rng& rng) {
  return {.out_channels = 4 * rng.between(1, 4),
          .in_channels = 2 * rng.between(1, 3),
          .out_height = rng.between(1, 8),
          .out_width = rng.between(1, 8),
          .kernel_height = rng.between(1, 3),
          .kernel_width = rng.between(1, 3),
          .stride_height = rng.between(1, 2),
          .stride_width = rng.between(1, 2)};
}

/// Compares the two evaluators on one mapping; the return value says whether there was something to compare.
bool same_as_evaluator(const CostModel& model, const MappingSpace& space, const Mapping& mapping) {
  SCOPED_TRACE(str(model.problem) + "\n" + str(mapping, model.problem, model.architecture));
  ProductCosts costs(model, space, mapping.keeps, {});
  EXPECT_TRUE(costs.usable());
  const Priced priced = price_one(costs, order_class_of(model, mapping), mapping);
  const Evaluation evaluation = evaluate(model, mapping);
  EXPECT_EQ(priced.fits, evaluation.fits());
  if (!priced.tabulated) return false;
  EXPECT_NEAR(priced.cycles, evaluation.cycles, 1e-9 * evaluation.cycles);
  EXPECT_NEAR(priced.energy_pj, evaluation.energy_pj, 1e-9 * evaluation.energy_pj);
  return true;
}

TEST(ProductCosts, EqualTheEvaluatorOnRandomConvolutionsAndPresets) {
  constexpr std::uint64_t seed = 7;
  int compared = 0;
  for (const std::string& name : preset_names())
    for (std::uint64_t i = 0; i < 120 && !HasFailure(); ++i) {
      SCOPED_TRACE(fmt::format("{}, seed {}, stream {}", name, seed, i));
      Rng rng(seed, i);
      EvaluationOptions options;
      if (rng.chance(0.3)) options.footprint = FootprintRule::bounding_box;
      if (rng.chance(0.3)) options.halo = HaloRule::none;
      options.first_fill_elided = rng.chance(0.8);
      const CostModel model(convolution(random_shape(rng)), preset(name), options);
      const MappingSpace space(model, {.bounds = {}, .search_keeps = rng.chance(0.5)});
      for (int k = 0; k < 10; ++k) compared += same_as_evaluator(model, space, space.random(rng)) ? 1 : 0;
    }
  EXPECT_GT(compared, 4000);
}

TEST(ProductCosts, EqualTheEvaluatorOnRandomArchitectures) {
  constexpr std::uint64_t seed = 8;
  int compared = 0;
  for (const Problem& problem : small_problems())
    for (std::uint64_t i = 0; i < 150 && !HasFailure(); ++i) {
      SCOPED_TRACE(fmt::format("seed {}, stream {}", seed, i));
      Rng rng(seed, i);
      const CostModel model(problem, small_architecture(rng));
      const MappingSpace space(model, {.bounds = {}, .search_keeps = true});
      for (int k = 0; k < 5; ++k) compared += same_as_evaluator(model, space, space.random(rng)) ? 1 : 0;
    }
  EXPECT_GT(compared, 2000);
}

/// What branch and bound relies on: no order of the loops is cheaper than the best class, and no class is cheaper than
/// the mapping that it stands for.
TEST(OrderClasses, CoverAllOrdersOfTheirBounds) {
  constexpr std::uint64_t seed = 9;
  for (const Problem& problem : small_problems())
    for (std::uint64_t i = 0; i < 150 && !HasFailure(); ++i) {
      Rng rng(seed, i);
      const CostModel model(problem, small_architecture(rng));
      const MappingSpace space(model, {.bounds = {}, .search_keeps = true});
      const Mapping mapping = space.random(rng);
      SCOPED_TRACE(fmt::format("seed {}, stream {}\n{}\n{}\n{}", seed, i, str(problem),
                               str(mapping, problem, model.architecture), to_toml(model.architecture)));
      const Evaluation evaluation = evaluate(model, mapping);
      if (!evaluation.fits()) continue;
      ProductCosts costs(model, space, mapping.keeps, {});
      double least_cycles = Goal::unlimited;
      double least_energy = Goal::unlimited;
      bool matched = false;
      for (const OrderClass& orders : order_classes(model, mapping.keeps)) {
        const Priced priced = price_one(costs, orders, mapping);
        if (!priced.tabulated) continue;
        least_cycles = std::min(least_cycles, priced.cycles);
        least_energy = std::min(least_energy, priced.energy_pj);
        matched = matched || (priced.cycles <= evaluation.cycles * (1 + 1e-9) &&
                              priced.energy_pj <= evaluation.energy_pj * (1 + 1e-9));
      }
      EXPECT_TRUE(matched) << "no class costs as little as " << evaluation.cycles << " cycles and "
                           << evaluation.energy_pj << " pJ; least " << least_cycles << ", " << least_energy;
    }
}

TEST(OrderClasses, OfAConvolutionOnGemminiAreFew) {
  const CostModel model(convolution({.out_channels = 64,
                                     .in_channels = 64,
                                     .out_height = 56,
                                     .out_width = 56,
                                     .kernel_height = 3,
                                     .kernel_width = 3}),
                        preset("gemmini"));
  // 15 around the scratchpad, 5 around the accumulator, 3 around the registers; 6! to the third power without classes
  EXPECT_EQ(order_classes(model, model.keepable).size(), 15U * 5U * 3U);
}

TEST(ProductCosts, GroupDimensionsThatShareACoordinate) {
  const CostModel model(convolution({.out_channels = 4,
                                     .in_channels = 4,
                                     .out_height = 4,
                                     .out_width = 4,
                                     .kernel_height = 3,
                                     .kernel_width = 1}),
                        preset("gemmini"));
  const MappingSpace space(model, {});
  const ProductCosts costs(model, space, model.keepable, {});
  // R S P Q C K N: R slides with P; S and N have one pass
  EXPECT_EQ(costs.groups(), (std::vector<std::vector<int>>{{0, 2}, {3}, {4}, {5}}));
  EXPECT_TRUE(costs.exact());
}

TEST(ProductCosts, RefuseWhatIsNoProduct) {
  EvaluationOptions options;
  options.halo = HaloRule::full;
  const CostModel model(matrix_product(4, 4, 4), preset("gemmini"), options);
  const MappingSpace space(model, {});
  EXPECT_FALSE(ProductCosts(model, space, model.keepable, {}).usable());
}

TEST(ProductCosts, KeepNoRowThatAnotherBeats) {
  const CostModel model(matrix_product(16, 16, 16), preset("gemmini"));
  const MappingSpace space(model, {});
  ProductCosts costs(model, space, model.keepable, {});
  const OrderClass orders(4, LevelOrder{{}, true, false, -1});
  const FactorTable& table = costs.table(0, orders, true);
  ASSERT_GT(table.rows, 1U);
  EXPECT_LT(table.rows, costs.table(0, orders, false).rows);
  for (std::size_t a = 0; a < table.rows; ++a)
    for (std::size_t b = 0; b < table.rows; ++b) {
      bool beats = a != b;
      for (std::size_t c = 0; c < costs.components(); ++c) beats = beats && table.column(c)[a] <= table.column(c)[b];
      EXPECT_FALSE(beats) << "row " << a << " beats row " << b;
    }
}

}  // namespace
}  // namespace kasimir
