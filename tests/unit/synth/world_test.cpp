// SPDX-License-Identifier: Apache-2.0
// What a world remembers against what the rules say: a world is a cache, and must never answer otherwise.
#include "kasimir/kernel/cost.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/replay.h"
#include "kasimir/synth/sampler_bench.h"
#include "support/counts.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>
#include <set>

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

/// Steps with one operand share what was read off the stages of one of them.
TEST(NormalFormer, KnowsEachStepAsItsOwnStagesSay) {
  const auto expect_own = [](std::vector<SiteLoad> loads) {
    const Sampler sampler(catalog(), std::move(loads), long_kernels({}), seed);
    SampleMemory memory(sampler);
    const World& world = memory.growth().world();
    NormalFormer former(world);
    const auto words = [](const Form& form) {
      const auto last = form.symbols.begin() + form.symbol_count;
      return fmt::format("{:x} {}", form.hash, fmt::join(form.symbols.begin(), last, ","));
    };
    std::set<MoveId> compared;
    for (std::uint64_t i = 0; i < 1500; ++i) {
      if (sampler.draw(i, memory)) continue;
      for (const GrownStep& step : memory.growth().steps()) {
        const MoveId move = step.written.move;
        if (!compared.insert(move).second) continue;
        const StepFacts& shared = former.facts(move);
        const StepFacts own = step_facts(world.graph(move), world.sites());
        ASSERT_EQ(str(shared), str(own)) << world.catalog()[world.move(move).primitive]->name << " attempt " << i;
        ASSERT_EQ(words(shared.form), words(own.form)) << "attempt " << i;
        ASSERT_EQ(words(shared.factorless), words(own.factorless)) << "attempt " << i;
        ASSERT_EQ(words(shared.result), words(own.result)) << "attempt " << i;
        ASSERT_EQ(shared.in_volume, own.in_volume) << "attempt " << i;
        ASSERT_EQ(shared.out_volume, own.out_volume) << "attempt " << i;
      }
    }
    EXPECT_GT(compared.size(), 3000U);
  };
  expect_own(testing::resnet8_loads());
  expect_own({conv_load({64, 64, 56, 56, 1}), conv_load({512, 512, 7, 7, 1})});
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
  const MoveTable table = world.table(broadcast, {world.input(), world.input()}, 0);
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

Fingerprint fingerprint_of(const Site& site, const std::string& steps) {
  World::Options options;
  for (const Primitive* primitive : catalog()) options.weights.push_back(primitive->weight);
  options.choices = {Binding().set(Symbol::g, 4).set(Symbol::r, 2)};
  const std::vector<SiteLoad> loads{testing::conv_load(site)};
  World world(catalog(), loads, options);
  int choice = 0;
  const auto replayed = replay(world, parse_kernel("kernel k\ngiven g=4 r=2\n" + steps, catalog()), &choice);
  return Semantics(world).fingerprint(replayed.value(), open_symbols(world, replayed.value())).value();
}

const Site square{32, 32, 6, 5, 1};
const Site widening{16, 32, 8, 8, 2};

TEST(Semantics, MeetsEqualFunctions) {
  const auto expect_equal = [](const std::string& a, const std::string& b) {
    EXPECT_EQ(fingerprint_of(square, a), fingerprint_of(square, b)) << a << b;
  };
  expect_equal("a = conv(x, to=Co)\nreturn a\n", "a = unfold(x)\nb = linear(a, to=Co)\nreturn b\n");
  expect_equal("a = unfold(x)\nb = linear(a, to=Co)\nreturn b\n",
               "a = unfold(x, axes=w)\nb = unfold(a, axes=h)\nc = linear(b, to=Co)\nreturn c\n");
  expect_equal("a = linear(x, to=Co)\nreturn a\n", "a = group(x, by=g)\nb = mix(a, over=(g,c), to=(c=Co))\nreturn b\n");
  expect_equal("a = relu(x)\nb = tanh(x)\nc = broadcast(a, b)\nreturn c\n",
               "a = tanh(x)\nb = relu(x)\nc = broadcast(a, b)\nreturn c\n");
}

TEST(Semantics, KeepsOtherFunctionsApart) {
  const auto expect_apart = [](const Site& site, const std::string& a, const std::string& b) {
    EXPECT_NE(fingerprint_of(site, a), fingerprint_of(site, b)) << a << b;
  };
  const std::string two = "a = relu(x)\nb = tanh(x)\n";
  expect_apart(square, two + "c = broadcast(a, b, op=sub)\nreturn c\n",
               two + "c = broadcast(b, a, op=sub)\nreturn c\n");
  expect_apart(square, "a = shift(x, axes=h, by=1)\nreturn a\n", "a = shift(x, axes=h, by=2)\nreturn a\n");
  expect_apart(square, "a = hardswish(x)\nreturn a\n", "a = relu(x)\nreturn a\n");
  expect_apart(square, "a = linear(x, to=Co)\nb = relu(a)\nc = tanh(a)\nd = broadcast(b, c)\nreturn d\n",
               "a = linear(x, to=Co)\nb = linear(x, to=Co)\nc = relu(a)\nd = tanh(b)\ne = broadcast(c, d)\nreturn e\n");
  // As many groups as channels, and four: the same number at the smallest tiny site.
  expect_apart(widening, "a = group(x, by=Ci)\nb = conv(a, to=Co, stride=yes)\nreturn b\n",
               "a = conv(x, to=Co, groups=g, stride=yes)\nreturn a\n");
}

Semantics::Waste waste_of(const std::string& steps) {
  World::Options options;
  for (const Primitive* primitive : catalog()) options.weights.push_back(primitive->weight);
  options.choices = {Binding().set(Symbol::g, 4).set(Symbol::r, 2)};
  const std::vector<SiteLoad> loads{testing::conv_load(square)};
  World world(catalog(), loads, options);
  int choice = 0;
  const auto replayed = replay(world, parse_kernel("kernel k\ngiven g=4 r=2\n" + steps, catalog()), &choice).value();
  return Semantics(world).waste(replayed, open_symbols(world, replayed));
}

TEST(Semantics, NamesTheStepThatIsIdle) {
  EXPECT_EQ(waste_of("a = relu(x)\nb = abs(a)\nc = linear(b, to=Co)\nreturn c\n").idle_step, 1);
  // The sum of a softmax is one.
  EXPECT_EQ(
      waste_of("a = gelu(x)\nb = softmax(a, axes=c)\nc = fold(b, axes=c, by=sum)\nd = broadcast(c, x)\nreturn d\n")
          .idle_step,
      0);
  EXPECT_TRUE(waste_of("a = relu(x)\nb = linear(a, to=Co)\nreturn b\n").none());
  EXPECT_TRUE(waste_of("a = shuffle(x, by=g)\nb = conv(a, to=Co, groups=g)\nreturn b\n").none());
}

TEST(Semantics, SeesThatChannelsDoNotDependOnTheInput) {
  EXPECT_TRUE(waste_of("a = shift(x, axes=c, by=1)\nreturn a\n").blind);
  EXPECT_FALSE(waste_of("a = shift(x, axes=h, by=1)\nreturn a\n").blind);
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
