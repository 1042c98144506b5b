// SPDX-License-Identifier: Apache-2.0
// What a world remembers against what the rules say: a world is a cache, and must never answer otherwise.
#include "kasimir/kernel/cost.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler_bench.h"
#include "support/counts.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 1;

SampleOptions long_kernels(const Budget& budget) {
  SampleOptions options;
  options.budget = budget;
  options.limits.min_primitives = 5;
  options.limits.max_primitives = 25;
  return options;
}

/// The steps of a kernel as numbers, for comparison.
std::vector<std::int32_t> numbers(const Growth& growth) {
  std::vector<std::int32_t> all;
  for (const GrownStep& step : growth.steps()) {
    all.push_back(growth.world().move(step.written.move).primitive);
    all.insert(all.end(), step.operands.begin(), step.operands.end());
  }
  return all;
}

TEST(World, GivesTheSameKernelsWhateverItWasAskedBefore) {
  const Sampler sampler(catalog(), testing::resnet8_loads(), long_kernels({}), seed);
  SampleMemory used(sampler);
  for (std::uint64_t i = 1000; i < 1400; ++i) static_cast<void>(sampler.draw(i, used));
  int compared = 0;
  for (std::uint64_t i = 0; i < 60; ++i) {
    SampleMemory fresh(sampler);
    const bool a = sampler.draw(i, used).has_value();
    const bool b = sampler.draw(i, fresh).has_value();
    ASSERT_EQ(a, b) << "attempt " << i;
    if (a) continue;
    ++compared;
    EXPECT_EQ(numbers(used.growth()), numbers(fresh.growth())) << "attempt " << i;
    EXPECT_EQ(str(sampler.kernel(used)), str(sampler.kernel(fresh)));
    EXPECT_EQ(used.identity(), fresh.identity());
    EXPECT_EQ(used.fingerprint(), fresh.fingerprint());
  }
  EXPECT_GT(compared, 40);
}

/// Costs of the moves, added up, against those of the kernel's own stages with the same values, from lower_at().
TEST(World, CostsOfMovesAreThoseOfTheKernelsStages) {
  std::cout << "seed " << seed << '\n';
  const auto loads = testing::resnet8_loads();
  const Sampler sampler(catalog(), loads, long_kernels(Budget::parse("macs=0.05..0.8,params=0.05..0.8")), seed);
  SampleMemory memory(sampler);
  int kernels = 0;
  for (std::uint64_t i = 0; i < 300; ++i) {
    if (sampler.draw(i, memory)) continue;
    ++kernels;
    const Kernel kernel = sampler.kernel(memory);
    for (std::size_t site = 0; site < loads.size(); ++site) {
      const auto graph = lower_at(kernel, loads[site].site, 1);
      ASSERT_TRUE(graph.ok()) << graph.rejection().str() << '\n' << str(kernel);
      const testing::Counts counts = testing::count(*graph);
      EXPECT_DOUBLE_EQ(memory.solution().at(CostKind::macs, site), counts.macs) << str(kernel);
      EXPECT_DOUBLE_EQ(memory.solution().at(CostKind::params, site), counts.params) << str(kernel);
    }
  }
  EXPECT_GT(kernels, 250);
}

TEST(World, BoundsOfAMoveEncloseItsCosts) {
  const auto loads = testing::resnet8_loads();
  const Sampler sampler(catalog(), loads, long_kernels({}), seed);
  SampleMemory memory(sampler);
  int checked = 0;
  for (std::uint64_t i = 0; i < 200; ++i) {
    if (sampler.draw(i, memory)) continue;
    const World& world = memory.growth().world();
    const auto lanes = static_cast<std::size_t>(world.lanes());
    for (std::size_t cost = 0; cost < 2; ++cost) {
      for (std::size_t site = 0; site < loads.size(); ++site) {
        double least = 0.0;
        double most = 0.0;
        for (const GrownStep& step : memory.growth().steps()) {
          least += world.move(step.written.move).bounds[cost * lanes + site];
          most += world.move(step.written.move).bounds[(2 + cost) * lanes + site];
        }
        const double found = memory.solution().cost[cost][site];
        EXPECT_LE(found, most * (1 + 1e-5)) << "seed " << seed << " attempt " << i;
        // Below the lane a free size has no smaller value, unless only a divisor of few channels is legal.
        EXPECT_GE(found * 8, least) << "seed " << seed << " attempt " << i;
        ++checked;
      }
    }
  }
  EXPECT_GT(checked, 1000);
}

TEST(World, DrawsOptionsByTheirWeights) {
  World::Options options;
  for (const Primitive* primitive : catalog()) options.weights.push_back(primitive->weight);
  options.choices = {Binding().set(Symbol::g, 4).set(Symbol::r, 2)};
  World world(catalog(), testing::resnet8_loads(), options);
  const auto names = primitive_names(catalog());
  const auto broadcast = static_cast<int>(std::ranges::find(names, "broadcast") - names.begin());
  const MoveTable table = world.table(broadcast, {world.input(), world.input()}, 0, false);
  ASSERT_EQ(table.ways, 1);
  Rng rng(seed);
  std::map<int, int> seen;
  constexpr int draws = 20'000;
  for (int i = 0; i < draws; ++i) ++seen[world.draw(table, rng).option];
  // add 45 %, sub 10 %, mul 30 %, max 10 %, min 5 %: six standard deviations of a binomial count are at most 430.
  const double wanted[] = {0.45, 0.1, 0.3, 0.1, 0.05};
  for (int op = 0; op < 5; ++op) EXPECT_NEAR(seen[op], wanted[op] * draws, 430) << op << ", seed " << seed;
}

TEST(World, RemembersWhichRuleAnIllegalMoveBreaks) {
  World::Options options;
  for (const Primitive* primitive : catalog()) options.weights.push_back(primitive->weight);
  options.choices = {Binding().set(Symbol::g, 4).set(Symbol::r, 2)};
  World world(catalog(), testing::resnet8_loads(), options);
  const auto names = primitive_names(catalog());
  const auto group = static_cast<int>(std::ranges::find(names, "group") - names.begin());
  const MoveId by_five = world.apply(group, {world.input(), no_id}, world.intern({Size(5)}), 0);
  EXPECT_FALSE(world.move(by_five).legal());
  EXPECT_EQ(world.rule(world.move(by_five).rule), "group: the factor divides the channels");
  EXPECT_EQ(world.apply(group, {world.input(), no_id}, world.intern({Size(5)}), 0), by_five);
  // A choice symbol is its number: both texts are one move.
  const MoveId by_g = world.apply(group, {world.input(), no_id}, world.intern({Size(Symbol::g)}), 0);
  EXPECT_TRUE(world.move(by_g).legal());
  EXPECT_EQ(world.apply(group, {world.input(), no_id}, world.intern({Size(4)}), 0), by_g);
}

TEST(Semantics, MeetsEqualFunctionsAndKeepsOthersApart) {
  const auto loads = testing::resnet8_loads();
  const Sampler sampler(catalog(), loads, long_kernels({}), seed);
  SampleMemory memory(sampler);
  std::map<Fingerprint, std::string> seen;
  std::map<Identity, Fingerprint> by_form;
  int met = 0;
  for (std::uint64_t i = 0; i < 600; ++i) {
    if (sampler.draw(i, memory)) continue;
    const auto found = memory.fingerprint();
    if (!found) continue;
    const auto [at, is_new] = by_form.try_emplace(memory.identity(), *found);
    if (!is_new) ++met;
    seen.emplace(*found, str(sampler.kernel(memory)));
  }
  std::cout << "seed " << seed << ": " << seen.size() << " functions, " << by_form.size() << " forms, " << met
            << " met again\n";
  EXPECT_GT(seen.size(), 350U);
  EXPECT_LE(seen.size(), by_form.size());
}

TEST(Spectrum, CountsKindsPairsAndSkeletons) {
  EXPECT_DOUBLE_EQ(entropy(std::array<std::int64_t, 4>{1, 1, 1, 1}), 2.0);
  EXPECT_DOUBLE_EQ(entropy(std::array<std::int64_t, 2>{5, 0}), 0.0);
  std::vector<double> values{3, 1, 2, 5, 4};
  EXPECT_DOUBLE_EQ(percentile(values, 0.5), 3.0);
  EXPECT_DOUBLE_EQ(percentile(values, 0.0), 1.0);
  EXPECT_DOUBLE_EQ(percentile(values, 1.0), 5.0);
}

TEST(SamplerBench, CountsWhatASamplerYields) {
  const Sampler sampler(catalog(), testing::resnet8_loads(),
                        long_kernels(Budget::parse("macs=0.1..0.5,params=0.1..0.5")), seed);
  const SamplerBench bench = bench_sampler(sampler, 400);
  EXPECT_EQ(bench.attempts, 400U);
  EXPECT_GT(bench.share_legal(), 0.7);  // strides and Ci != Co make it harder than at ResNet-18's sites
  EXPECT_LE(bench.share_legal(), 1.0);
  EXPECT_EQ(static_cast<std::uint64_t>(bench.spectrum.kernels()), bench.legal);
  EXPECT_GT(bench.share_distinct(), 0.95);
  EXPECT_EQ(bench.examples.size(), 10U);
  EXPECT_GT(bench.spectrum.kind_entropy(), 3.0);
  double shares = 0.0;
  for (double share : bench.spectrum.kind_shares()) shares += share;
  EXPECT_NEAR(shares, 1.0, 1e-9);
}

}  // namespace
}  // namespace kasimir
