// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/composite.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/find.h"
#include "kasimir/synth/sampler.h"
#include "unit/synth/loads.h"
#include "unit/synth/within.h"

#include <iostream>
#include <map>
#include <set>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 3;
const Budget no_budget{{}, {}, {}};

World::Options everything() {
  World::Options options;
  for (const Primitive* primitive : catalog()) options.weights.push_back(primitive->weight);
  options.choices = {Binding().set(Symbol::g, 4).set(Symbol::r, 2)};
  return options;
}

/// The primitives of a draw, in order; checks that what is read comes before and that nothing is left unread.
std::string kinds_of(const DrawnComposite& drawn) {
  std::string names;
  std::set<int> unread;
  for (int i = 0; i < drawn.count; ++i) {
    const auto& step = drawn.steps[static_cast<std::size_t>(i)];
    EXPECT_GE(step.operands[0], 0);
    for (const int operand : step.operands) {
      EXPECT_LE(operand, i);
      unread.erase(operand);
    }
    unread.insert(i + 1);
    names += std::string(catalog()[static_cast<std::size_t>(step.primitive)]->name) + ' ';
  }
  EXPECT_EQ(unread, std::set<int>{drawn.count});
  return names;
}

TEST(Composites, AreReadAndDrawnWithNothingLeftUnread) {
  const World::Options options = everything();
  World world(catalog(), testing::resnet8_loads(), options);
  const CompositeSet set(catalog(), options.weights);
  EXPECT_EQ(set.size(), composites().size());
  std::set<std::string_view> names;
  Rng rng(seed);
  for (std::size_t i = 0; i < set.size(); ++i) {
    SCOPED_TRACE(set[i].name);
    EXPECT_TRUE(names.insert(set[i].name).second);
    EXPECT_FALSE(set[i].brief.empty());
    EXPECT_FALSE(set[i].source.empty());
    for (int draw = 0; draw < 200; ++draw) {
      DrawnComposite drawn;
      ASSERT_TRUE(set.draw(i, rng, world, world.input(), 2, drawn));
      EXPECT_GE(drawn.count, set.least_steps(i));
      EXPECT_GE(drawn.count, 3);
      kinds_of(drawn);
    }
  }
}

TEST(Composites, DrawEachWayAndEachWidth) {
  const World::Options options = everything();
  World world(catalog(), testing::resnet8_loads(), options);
  const CompositeSet set(catalog(), options.weights);
  std::size_t gate = 0;
  while (set[gate].name != "gate") ++gate;
  std::map<std::string, int> kinds;
  std::map<std::string, int> widths;
  Rng rng(seed);
  constexpr int draws = 2000;
  for (int i = 0; i < draws; ++i) {
    DrawnComposite drawn;
    ASSERT_TRUE(set.draw(gate, rng, world, world.input(), 1, drawn));
    ++kinds[kinds_of(drawn)];
    ++widths[std::get<Size>(world.arguments(drawn.steps[1].arguments)[0]).str()];
    EXPECT_EQ(std::get<Size>(world.arguments(drawn.steps[3].arguments)[0]), Size(Symbol::Ci));
  }
  EXPECT_EQ(kinds.size(), 6U);
  for (const auto& [names, count] : kinds) EXPECT_GT(count, draws / 12) << names;
  ASSERT_EQ(widths.size(), 4U);
  EXPECT_NEAR(widths["Ci/r"], 0.3 * draws, 0.05 * draws);
  EXPECT_NEAR(widths["Co/r"], 0.3 * draws, 0.05 * draws);
  EXPECT_NEAR(widths["x0"], 0.2 * draws, 0.05 * draws);
  EXPECT_NEAR(widths["x1"], 0.2 * draws, 0.05 * draws);
}

TEST(Composites, NeedTheirPrimitives) {
  World::Options options = everything();
  const auto names = primitive_names(catalog());
  const auto forbid = [&](std::string_view name) {
    options.weights[static_cast<std::size_t>(std::ranges::find(names, name) - names.begin())] = 0.0;
  };
  const auto known = [&] {
    const CompositeSet set(catalog(), options.weights);
    std::set<std::string_view> all;
    for (std::size_t i = 0; i < set.size(); ++i) all.insert(set[i].name);
    return all;
  };
  EXPECT_TRUE(known().contains("gate"));
  forbid("gelu");
  EXPECT_TRUE(known().contains("gate"));
  forbid("fold");
  EXPECT_FALSE(known().contains("gate"));
  EXPECT_FALSE(known().contains("involution"));
  EXPECT_TRUE(known().contains("bottleneck"));
}

Sampler sampler_of(double weight, int least, int most, const Budget& budget = no_budget) {
  SampleOptions options;
  options.budget = budget;
  options.limits.min_primitives = least;
  options.limits.max_primitives = most;
  options.limits.composites = weight;
  return {catalog(), testing::resnet8_loads(), options, seed};
}

/// Draws kernels with many composites; all are legal, within the budget, of a length that was asked for.
void expect_legal(const Budget& budget) {
  std::cout << "seed " << seed << '\n';
  const Sampler sampler = sampler_of(5.0, 5, 25, budget);
  SampleMemory memory(sampler);
  int legal = 0;
  constexpr std::uint64_t attempts = 500;
  for (std::uint64_t i = 0; i < attempts; ++i) {
    if (sampler.draw(i, memory)) continue;
    ++legal;
    const Kernel kernel = sampler.kernel(memory);
    SCOPED_TRACE(fmt::format("attempt {}:\n{}", i, str(kernel)));
    testing::expect_within(kernel, sampler.sites(), budget);
    EXPECT_GE(kernel.steps.size(), 5U);
    EXPECT_LE(kernel.steps.size(), 25U);
  }
  EXPECT_GT(legal, 400);
}

TEST(Composites, MakeLegalKernels) { expect_legal(no_budget); }
TEST(Composites, MakeKernelsWithinABudget) { expect_legal(Budget::parse("macs=0.1..0.6,params=0.1..0.6")); }

TEST(Composites, KeepLengthsUniform) {
  const Sampler sampler = sampler_of(2.0, 5, 14);
  SampleMemory memory(sampler);
  std::map<std::size_t, int> lengths;
  constexpr int attempts = 3000;
  for (std::uint64_t i = 0; i < attempts; ++i)
    if (!sampler.draw(i, memory)) ++lengths[memory.growth().steps().size()];
  ASSERT_EQ(lengths.size(), 10U);
  for (const auto& [length, count] : lengths) EXPECT_NEAR(count, attempts / 10, attempts / 40) << length;
}

TEST(Composites, AreNeverTriedWithoutAWeight) {
  const Sampler sampler = sampler_of(0.0, 3, 10);
  SampleMemory memory(sampler);
  EXPECT_EQ(memory.growth().composites().size(), 0U);
  Rng rng(seed);
  for (int i = 0; i < 1000; ++i) EXPECT_LT(memory.growth().draw_kind(rng), static_cast<int>(catalog().size()));
}

TEST(Composites, LeadToKernelsThatPeopleFound) {
  // One site, so that a few hundred thousand attempts suffice.
  const std::vector<SiteLoad> loads{testing::conv_load({16, 16, 8, 8, 1})};
  for (const char* name : {"squeeze_excite", "involution", "large_kernel_attention", "self_attention",
                           "channel_attention", "grouped_shuffle", "shift_pointwise"}) {
    SCOPED_TRACE(name);
    const auto path = std::string(KASIMIR_SOURCE_DIR) + "/examples/kernels/" + name + ".txt";
    const Kernel kernel = parse_kernel(read_file(path), catalog(), path);
    SampleOptions options;
    options.budget = no_budget;
    options.limits.min_primitives = options.limits.max_primitives = static_cast<int>(kernel.steps.size());
    // No stride here: a step that takes it is none.
    if (str(kernel).find("= stride(") != std::string::npos)
      options.limits.min_primitives = --options.limits.max_primitives;
    options.limits.composites = 5.0;
    const Sampler sampler(catalog(), loads, options, seed);
    const auto target = target_for(sampler, kernel);
    ASSERT_TRUE(target.ok()) << target.rejection().str();
    const FindResult result = find(sampler, *target, {.most_attempts = 400'000, .most_hits = 1});
    ASSERT_EQ(result.hits.size(), 1U);
    EXPECT_EQ(result.hits[0].agreement, Agreement::reals);
    std::cout << name << ": attempt " << result.hits[0].attempt + 1 << '\n';
  }
}

}  // namespace
}  // namespace kasimir
