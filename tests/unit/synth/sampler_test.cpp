// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/sampler.h"

#include "kasimir/base/text.h"
#include "kasimir/primitive/catalog.h"
#include "unit/synth/loads.h"
#include "unit/synth/within.h"

#include <gtest/gtest.h>

#include <cstdio>
#include <cstdlib>
#include <iostream>
#include <set>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 1;

struct Draws {
  std::vector<Sampled> found;
  SampleStats stats;
};

Draws draw(const Budget& budget, std::size_t count, int threads = 1, std::uint64_t with_seed = seed,
           std::uint64_t most = 50'000) {
  SampleOptions options;
  options.budget = budget;
  Draws all;
  all.stats = sample(Sampler(catalog(), testing::resnet8_loads(), options, with_seed), count, most, threads,
                     [&](const Sampled& sampled) { all.found.push_back(sampled); });
  std::cout << "seed " << with_seed << ": " << all.found.size() << " kernels in " << all.stats.attempts
            << " attempts\n";
  return all;
}

std::vector<std::string> texts(const Draws& run) {
  std::vector<std::string> all;
  for (const Sampled& sampled : run.found) all.push_back(str(sampled.kernel));
  return all;
}

TEST(Sample, IsTheSameOnAnyNumberOfThreads) {
  const Budget budget = Budget::parse("macs=0.1..0.6,params=0.1..0.6");
  const Draws one = draw(budget, 70, 1);
  for (int threads : {2, 3}) {
    const Draws many = draw(budget, 70, threads);
    EXPECT_EQ(texts(many), texts(one));
    EXPECT_EQ(many.stats.attempts, one.stats.attempts);
    EXPECT_EQ(many.stats.legal, one.stats.legal);
    EXPECT_EQ(many.stats.same_text, one.stats.same_text);
    EXPECT_EQ(many.stats.same_function, one.stats.same_function);
    EXPECT_EQ(many.stats.rejected, one.stats.rejected);
    EXPECT_EQ(many.stats.refused, one.stats.refused);
    EXPECT_EQ(many.stats.nearest, one.stats.nearest);
  }
  EXPECT_NE(texts(draw(budget, 70, 1, 2)), texts(one));
}

TEST(Sample, SaysWhatAScreenRefuses) {
  const Draws run = draw({}, 600);
  const auto with = [&](const char* rule) {
    const auto found = run.stats.nearest.find(rule);
    return found == run.stats.nearest.end() ? "not refused" : found->second;
  };
  EXPECT_EQ(with("screen: every output channel changes with the input"), "");
  const std::string idle = with("screen: no step may be left out");
  EXPECT_TRUE(idle.starts_with("`") && idle.ends_with(")`")) << idle;
}

TEST(Sample, GivesAnAttemptAgainByItsNumber) {
  SampleOptions options;
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, seed);
  SampleMemory memory(sampler);
  int checked = 0;
  sample(sampler, 10, 1000, 1, [&](const Sampled& sampled) {
    const auto again = sampler.attempt(sampled.attempt, memory);
    ASSERT_TRUE(again.ok());
    EXPECT_EQ(str(again->kernel), str(sampled.kernel));
    EXPECT_EQ(again->label.fingerprint, sampled.label.fingerprint);
    ++checked;
  });
  EXPECT_EQ(checked, 10);
}

/// Threads draw other attempts before the same one: what they have worked out by then must not show.
TEST(Sample, DrawsAnAttemptAsIfItWereTheFirst) {
  SampleOptions options;
  options.limits.min_primitives = 5;
  options.limits.max_primitives = 25;
  options.budget = Budget::parse("macs=0.1..0.5,params=0.1..0.5");
  const std::vector<SiteLoad> loads{conv_load({64, 64, 56, 56, 1}, 4), conv_load({512, 512, 7, 7, 1}, 3)};
  const Sampler sampler(catalog(), loads, options, seed);
  SampleMemory experienced(sampler);
  SampleMemory fresh(sampler);
  constexpr std::uint64_t first = 3000;
  for (std::uint64_t i = 0; i < first; ++i) sampler.draw(i, experienced);
  int legal = 0;
  for (std::uint64_t i = first; i < 2 * first; ++i) {
    const auto refused = sampler.draw(i, experienced);
    ASSERT_EQ(sampler.draw(i, fresh), refused) << "seed " << seed << " attempt " << i;
    if (refused) continue;
    ++legal;
    ASSERT_EQ(experienced.identity(), fresh.identity()) << "seed " << seed << " attempt " << i;
    ASSERT_EQ(experienced.solution().values, fresh.solution().values) << "seed " << seed << " attempt " << i;
  }
  EXPECT_GT(legal, 2000);
}

/// What was worked out moves in memory as it grows, at other times for each beginning.
TEST(Sample, DrawsTheSameWhileItsTablesGrow) {
  SampleOptions options;
  options.budget = Budget::parse("macs=0.2..0.5,params=0.1..0.5");
  const std::vector<SiteLoad> loads{conv_load({16, 16, 28, 28, 1}, 2), conv_load({16, 32, 14, 14, 2}),
                                    conv_load({32, 32, 14, 14, 1}), conv_load({32, 64, 7, 7, 2}),
                                    conv_load({64, 64, 7, 7, 1})};
  const Sampler sampler(catalog(), loads, options, seed);
  SampleMemory experienced(sampler);
  for (std::uint64_t i = 0; i < 500; ++i) sampler.draw(i, experienced);
  for (std::uint64_t trial = 1; trial <= 150; ++trial) {
    SampleMemory fresh(sampler);
    for (std::uint64_t i = trial * 20'000; i < trial * 20'000 + 10; ++i) {
      const auto refused = sampler.draw(i, experienced);
      ASSERT_EQ(sampler.draw(i, fresh), refused) << "seed " << seed << " attempt " << i;
      if (!refused) {
        ASSERT_EQ(experienced.identity(), fresh.identity()) << "seed " << seed << " attempt " << i;
      }
    }
  }
}

void expect_within(const Draws& run, const Budget& budget) {
  const auto loads = testing::resnet8_loads();
  for (const Sampled& sampled : run.found) {
    SCOPED_TRACE(fmt::format("seed {} attempt {}:\n{}", seed, sampled.attempt, str(sampled.kernel)));
    const testing::Counts total = testing::expect_within(sampled.kernel, loads, budget);
    EXPECT_DOUBLE_EQ(total.macs, sampled.cost.total_macs);
    EXPECT_DOUBLE_EQ(total.params, sampled.cost.total_params);
    for (std::size_t i = 0; i < loads.size(); ++i) {
      const testing::Counts here = testing::count(lower_at(sampled.kernel, loads[i].site, 1).value());
      EXPECT_DOUBLE_EQ(here.macs, sampled.cost.macs[i]);
      EXPECT_DOUBLE_EQ(here.params, sampled.cost.params[i]);
    }
  }
}

TEST(Sample, KeepsARelativeBudgetAtEverySite) {
  const Budget budget = Budget::parse("macs=0.1..0.5,params=0.1..0.5");
  const Draws some = draw(budget, 150);
  ASSERT_EQ(some.found.size(), 150U);
  expect_within(some, budget);
}

TEST(Sample, KeepsAnAbsoluteBudgetOverTheNetwork) {
  const Budget budget = Budget::parse("macs=1M..6M,params=..40k");
  const Draws some = draw(budget, 100);
  ASSERT_EQ(some.found.size(), 100U);
  expect_within(some, budget);
}

TEST(Sample, MixesARelativeWithAnAbsoluteLimit) {
  const Budget budget = Budget::parse("macs=..0.4,params=5k..30k");
  const Draws some = draw(budget, 60);
  ASSERT_EQ(some.found.size(), 60U);
  expect_within(some, budget);
}

/// An integer check of what the sampler claims, from nothing but the stages of the kernel's text:
/// KASIMIR_SAMPLED_KERNELS=100000 checks so many.
TEST(Sample, ClaimsWhatTheStagesOfItsTextSay) {
  const char* text = std::getenv("KASIMIR_SAMPLED_KERNELS");
  const int wanted = text == nullptr ? 250 : parse_integer(text).value_or(250);
  // The sites of ResNet-18's 3 x 3 convolutions without stride (arXiv 1512.03385, table 1).
  const std::vector<SiteLoad> loads{conv_load({64, 64, 56, 56, 1}, 4), conv_load({128, 128, 28, 28, 1}, 3),
                                    conv_load({256, 256, 14, 14, 1}, 3), conv_load({512, 512, 7, 7, 1}, 3)};
  SampleOptions options;
  options.limits.min_primitives = 5;
  options.limits.max_primitives = 25;
  options.budget = Budget::parse("macs=0.1..0.5,params=0.1..0.5");
  const Sampler sampler(catalog(), loads, options, seed);
  SampleMemory memory(sampler);
  int checked = 0;
  for (std::uint64_t attempt = 0; checked < wanted && !::testing::Test::HasFailure(); ++attempt) {
    const auto sampled = sampler.attempt(attempt, memory);
    if (!sampled.ok()) continue;
    SCOPED_TRACE(fmt::format("seed {} attempt {}:\n{}", seed, attempt, str(sampled->kernel)));
    const Kernel read = parse_kernel(str(sampled->kernel), catalog());
    const testing::Counts total = testing::expect_within(read, loads, options.budget);
    EXPECT_DOUBLE_EQ(total.macs, sampled->cost.total_macs);
    EXPECT_DOUBLE_EQ(total.params, sampled->cost.total_params);
    ++checked;
  }
  std::printf("%d kernels\n", checked);
}

TEST(Sample, GivesNoTextTwiceAndReadsItsOwnTexts) {
  const Draws some = draw({}, 300);
  std::set<std::string> seen;
  std::set<std::string> names;
  for (const Sampled& sampled : some.found) {
    const std::string text = str(sampled.kernel);
    EXPECT_TRUE(seen.insert(text).second) << text;
    names.insert(sampled.kernel.name);
    std::vector<Site> sites;
    for (const SiteLoad& load : testing::resnet8_loads()) sites.push_back(load.site);
    EXPECT_EQ(str(parse_and_check(text, catalog(), SiteSet(sites, {}))), text);
  }
  EXPECT_EQ(seen.size(), 300U);
  EXPECT_EQ(names.size(), 300U);
}

TEST(Sample, CountsEveryAttemptOnce) {
  const Draws some = draw(Budget::parse("macs=0.2..0.4,params=..0.4"), 80);
  std::uint64_t rejected = 0;
  for (const auto& [rule, count] : some.stats.rejected) {
    rejected += static_cast<std::uint64_t>(count);
    EXPECT_TRUE(some.stats.nearest.contains(rule)) << rule;
  }
  EXPECT_EQ(some.stats.attempts, some.stats.legal + rejected);
  EXPECT_EQ(some.stats.legal, some.found.size() + some.stats.same_text);
}

TEST(Sample, StopsAtTheLastAttempt) {
  const Draws few = draw({}, 1'000'000, 2, seed, 37);
  EXPECT_EQ(few.stats.attempts, 37U);
}

TEST(Sample, ExplainsABudgetThatNothingMeets) {
  const Draws none = draw(Budget::parse("macs=..0.00001,params=..0.00001"), 10, 1, seed, 200);
  EXPECT_LT(none.found.size(), 10U);
  EXPECT_GT(none.stats.refused.at("growth: the least MACs stay within the budget"), 100);
  EXPECT_FALSE(none.stats.rejected.empty());
}

TEST(Sample, ExplainsALowerBoundThatNothingReaches) {
  const Draws none = draw(Budget::parse("macs=..0.5,params=30..40"), 10, 1, seed, 200);
  EXPECT_EQ(none.found.size(), 0U);
  EXPECT_GT(none.stats.rejected.at("growth: some step leads on"), 150);
  EXPECT_GT(none.stats.refused.at("growth: the budget's lower bounds can be reached"), 20);
}

}  // namespace
}  // namespace kasimir
