// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/moves.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "unit/synth/children.h"

#include <iostream>
#include <map>
#include <set>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 7;
const Budget no_budget{{}, {}, {}};

using testing::draw;
using testing::expect_child;

Sampler sampler_of(const Budget& budget, int least, int most) { return testing::sampler_of(budget, least, most, seed); }

Kernel read(const std::string& steps) { return parse_kernel("kernel k\n" + steps, catalog()); }

MoveOptions only(Mutation kind, RepairLimits repair = {}) {
  MoveOptions options;
  options.weights.fill(0.0);
  options.weights[static_cast<std::size_t>(kind)] = 1.0;
  options.repair = repair;
  return options;
}

/// Follows chains of mutations, so that kernels far from what is drawn are parents too.
void expect_legal_mutants(const Budget& budget, int least, int most, std::uint64_t count) {
  std::cout << "seed " << seed << '\n';
  const Sampler sampler = sampler_of(budget, least, most);
  std::vector<Kernel> kernels = draw(sampler, 50);
  SampleMemory memory(sampler);
  std::uint64_t found = 0;
  std::map<Mutation, int> kinds;
  for (std::uint64_t number = 0; number < count; ++number) {
    Kernel& parent = kernels[number % kernels.size()];
    const auto kind = mutate(sampler, parent, number, memory);
    if (!kind.ok()) continue;
    ++found;
    ++kinds[*kind];
    const Kernel child = sampler.kernel(memory);
    SCOPED_TRACE(fmt::format("number {}, {}:\n{}from\n{}", number, mutation_name(*kind), str(child), str(parent)));
    expect_child(sampler, child, {&parent, 1});
    parent = child;
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(found, count * 95 / 100);
  EXPECT_EQ(kinds.size(), mutation_count);
  for (const auto& [kind, times] : kinds) {
    std::cout << mutation_name(kind) << ' ' << times << '\n';
    EXPECT_GT(times, static_cast<int>(count / 40)) << mutation_name(kind);
  }
}

TEST(Mutate, GivesLegalKernelsWithinARelativeBudget) {
  expect_legal_mutants(Budget::parse("macs=0.1..0.5,params=0.1..0.5"), 5, 25, 1500);
}

TEST(Mutate, GivesLegalKernelsWithinAnAbsoluteBudget) {
  expect_legal_mutants(Budget::parse("macs=1M..6M,params=..40k"), 3, 12, 1000);
}

TEST(Mutate, GivesLegalShortKernelsWithoutABudget) { expect_legal_mutants(no_budget, 1, 6, 1500); }

TEST(Mutate, IsAFunctionOfNumberAndParent) {
  const Sampler sampler = sampler_of(Budget::parse("macs=0.1..0.6,params=0.1..0.6"), 3, 15);
  const std::vector<Kernel> parents = draw(sampler, 10);
  SampleMemory used(sampler);
  for (std::uint64_t i = 5000; i < 5200; ++i) static_cast<void>(sampler.draw(i, used));
  std::set<std::string> children;
  for (std::uint64_t number = 0; number < 30; ++number) {
    SampleMemory fresh(sampler);
    const Kernel& parent = parents[number % parents.size()];
    const auto one = mutate(sampler, parent, number, used);
    const auto two = mutate(sampler, parent, number, fresh);
    ASSERT_EQ(one.ok(), two.ok());
    if (!one.ok()) {
      EXPECT_EQ(one.rejection(), two.rejection());
      continue;
    }
    EXPECT_EQ(*one, *two);
    EXPECT_EQ(str(sampler.kernel(used)), str(sampler.kernel(fresh)));
    children.insert(str(sampler.kernel(used)));
  }
  EXPECT_GT(children.size(), 25U);
}

constexpr RepairLimits no_repair{.most_lost = 0, .most_grown = 0};

TEST(Mutate, InsertsAndRemovesSteps) {
  const Sampler sampler = sampler_of(no_budget, 1, 40);
  SampleMemory memory(sampler);
  const std::vector<Kernel> parents = draw(sampler, 40);
  int inserted = 0;
  int removed = 0;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const std::size_t before = parents[i].steps.size();
    if (mutate(sampler, parents[i], i, memory, only(Mutation::insert, no_repair)).ok()) {
      EXPECT_GT(sampler.kernel(memory).steps.size(), before);
      ++inserted;
    }
    if (mutate(sampler, parents[i], i, memory, only(Mutation::remove, no_repair)).ok()) {
      EXPECT_LT(sampler.kernel(memory).steps.size(), before);
      ++removed;
    }
  }
  EXPECT_GT(inserted, 30);
  EXPECT_GT(removed, 25);
}

TEST(Mutate, ChangesArgumentsAndOperandsAlone) {
  const Sampler sampler = sampler_of(no_budget, 1, 20);
  SampleMemory memory(sampler);
  const std::vector<Kernel> parents = draw(sampler, 40);
  int changed = 0;
  int rewired = 0;
  for (std::size_t i = 0; i < parents.size(); ++i) {
    const Kernel& parent = parents[i];
    if (mutate(sampler, parent, i, memory, only(Mutation::change, no_repair)).ok()) {
      const Kernel child = sampler.kernel(memory);
      ASSERT_EQ(child.steps.size(), parent.steps.size());
      for (std::size_t k = 0; k < child.steps.size(); ++k) {
        EXPECT_EQ(child.steps[k].primitive, parent.steps[k].primitive);
        EXPECT_EQ(child.steps[k].operands, parent.steps[k].operands);
      }
      ++changed;
    }
    if (mutate(sampler, parent, i, memory, only(Mutation::rewire, no_repair)).ok()) {
      EXPECT_LE(sampler.kernel(memory).steps.size(), parent.steps.size());
      ++rewired;
    }
  }
  EXPECT_GT(changed, 30);
  EXPECT_GT(rewired, 10);
}

TEST(Mutate, ResizesChoicesAndWidths) {
  const Sampler sampler = sampler_of(no_budget, 1, 10);
  SampleMemory memory(sampler);
  const Kernel parent =
      read("given r=4\na = conv(x, to=Co/r, stride=yes)\nb = relu(a)\nc = linear(b, to=Co)\nreturn c\n");
  std::set<std::string> first_steps;
  for (std::uint64_t number = 0; number < 40; ++number) {
    ASSERT_TRUE(mutate(sampler, parent, number, memory, only(Mutation::resize, no_repair)).ok());
    const Kernel child = sampler.kernel(memory);
    ASSERT_EQ(child.steps.size(), 3U) << str(child);
    first_steps.insert(str(child.steps[0]) + (child.choices.has(Symbol::r) ? " " + child.choices.str() : ""));
  }
  EXPECT_EQ(first_steps, (std::set<std::string>{"conv(x, to=Co/r, stride=yes) r=2", "conv(x, to=Co/r, stride=yes) r=8",
                                                "conv(x, to=x0, stride=yes)"}));
}

TEST(Mutate, StartsFromKernelsThatPeopleWrote) {
  const Sampler sampler = sampler_of(no_budget, 1, 20);
  SampleMemory memory(sampler);
  int parents = 0;
  for (const char* name : {"convolution", "grouped_shuffle", "involution", "large_kernel_attention", "low_rank",
                           "self_attention", "squeeze_excite", "channel_attention"}) {
    const auto path = std::string(KASIMIR_SOURCE_DIR) + "/examples/kernels/" + name + ".txt";
    const Kernel parent = parse_kernel(read_file(path), catalog(), path);
    for (std::uint64_t number = 0; number < 20; ++number) {
      const auto kind = mutate(sampler, parent, number, memory);
      ASSERT_TRUE(kind.ok()) << name << ": " << kind.rejection().str();
      expect_child(sampler, sampler.kernel(memory), {&parent, 1});
    }
    ++parents;
  }
  EXPECT_EQ(parents, 8);
}

TEST(Mutate, SaysWhatTheParentBreaks) {
  const Sampler sampler = sampler_of(no_budget, 1, 10);
  SampleMemory memory(sampler);
  const auto result = mutate(sampler, read("a = conv(x, to=Ci, stride=yes)\nreturn a\n"), 0, memory);
  ASSERT_FALSE(result.ok());
  EXPECT_EQ(result.rejection().rule, "the result has the axes c=Co, h=H, w=W");
}

TEST(Mutate, SaysWhatMostTriesBroke) {
  const Sampler sampler = sampler_of(no_budget, 1, 10);
  SampleMemory memory(sampler);
  const Kernel parent = read("a = conv(x, to=Co, stride=yes)\nreturn a\n");
  const auto removed = mutate(sampler, parent, 0, memory, only(Mutation::remove, no_repair));
  ASSERT_FALSE(removed.ok());
  EXPECT_EQ(removed.rejection().str(), "growth: the length is within its limits (40 of 40 tries)");
  const auto resized = mutate(sampler, read("a = pool(x)\nb = linear(a, to=Co)\nreturn b\n"), 0, memory,
                              only(Mutation::rewire, no_repair));
  ASSERT_FALSE(resized.ok());
  EXPECT_GT(resized.rejection().with.size(), 3U);
}

TEST(BrokenRules, TellsTheMostFrequentRuleAndOfEqualsTheFirst) {
  BrokenRules broken;
  broken.add("a");
  broken.add("b", "2 at x");
  broken.add("b", "3 at y");
  EXPECT_EQ(broken.most_frequent().str(), "b (2 of 3 tries, 2 at x)");
  broken.add("a");
  EXPECT_EQ(broken.most_frequent().str(), "a (2 of 4 tries)");
}

void expect_legal_crossings(const Budget& budget, int least, int most, std::uint64_t count) {
  std::cout << "seed " << seed << '\n';
  const Sampler sampler = sampler_of(budget, least, most);
  const std::vector<Kernel> kernels = draw(sampler, 60);
  SampleMemory memory(sampler);
  std::uint64_t found = 0;
  std::set<std::string> texts;
  for (std::uint64_t number = 0; number < count; ++number) {
    const std::array parents{kernels[number % 60], kernels[(number + 1 + number / 60) % 60]};
    if (cross(sampler, parents[0], parents[1], number, memory)) continue;
    ++found;
    const Kernel child = sampler.kernel(memory);
    SCOPED_TRACE(fmt::format("number {}:\n{}from\n{}and\n{}", number, str(child), str(parents[0]), str(parents[1])));
    expect_child(sampler, child, parents);
    texts.insert(str(child));
    if (::testing::Test::HasFailure()) return;
  }
  EXPECT_GT(found, count * 85 / 100);
  EXPECT_GT(texts.size(), found / 2);
}

TEST(Cross, GivesLegalKernelsWithinARelativeBudget) {
  expect_legal_crossings(Budget::parse("macs=0.1..0.5,params=0.1..0.5"), 5, 25, 1200);
}

TEST(Cross, GivesLegalShortKernelsWithoutABudget) { expect_legal_crossings(no_budget, 2, 8, 1200); }

TEST(Cross, IsAFunctionOfNumberAndParents) {
  const Sampler sampler = sampler_of(no_budget, 3, 15);
  const std::vector<Kernel> parents = draw(sampler, 10);
  SampleMemory used(sampler);
  for (std::uint64_t i = 5000; i < 5200; ++i) static_cast<void>(sampler.draw(i, used));
  int compared = 0;
  for (std::uint64_t number = 0; number < 20; ++number) {
    SampleMemory fresh(sampler);
    const Kernel& first = parents[number % 10];
    const Kernel& second = parents[(number + 1) % 10];
    const auto one = cross(sampler, first, second, number, used);
    EXPECT_EQ(one, cross(sampler, first, second, number, fresh));
    if (one) continue;
    ++compared;
    EXPECT_EQ(str(sampler.kernel(used)), str(sampler.kernel(fresh)));
  }
  EXPECT_GT(compared, 15);
}

TEST(Cross, TakesTheBeginningOfOneAndTheRestOfTheOther) {
  const Sampler sampler = sampler_of(no_budget, 1, 10);
  SampleMemory memory(sampler);
  const Kernel first = read("a = conv(x, to=Co, stride=yes)\nb = gelu(a)\nreturn b\n");
  const Kernel second = read("a = pool(x)\nb = linear(a, to=Co)\nc = sigmoid(b)\nreturn c\n");
  std::set<std::string> kinds;
  MoveOptions exact;
  exact.repair = no_repair;
  for (std::uint64_t number = 0; number < 200; ++number) {
    if (cross(sampler, first, second, number, memory, exact)) continue;
    std::string names;
    for (const Step& step : sampler.kernel(memory).steps) names += std::string(step.primitive->name) + ' ';
    kinds.insert(names);
  }
  EXPECT_TRUE(kinds.contains("conv sigmoid "));
  EXPECT_TRUE(kinds.contains("pool linear gelu "));
  EXPECT_TRUE(kinds.contains("conv gelu sigmoid "));
  EXPECT_TRUE(kinds.contains("pool linear sigmoid gelu "));
}

TEST(Cross, MatchesFreeWidths) {
  const Sampler sampler = sampler_of(no_budget, 1, 10);
  SampleMemory memory(sampler);
  const Kernel first = read("a = conv(x, to=x0, stride=yes)\nb = tanh(a)\nc = linear(b, to=Co)\nreturn c\n");
  const Kernel second =
      read("given r=2\na = pool(x)\nb = linear(a, to=Co/r)\nc = gelu(b)\nd = linear(c, to=Co)\nreturn d\n");
  std::set<std::string> texts;
  for (std::uint64_t number = 0; number < 300; ++number) {
    if (cross(sampler, first, second, number, memory)) continue;
    Kernel child = sampler.kernel(memory);
    child.fits.clear();
    child.name = "k";
    texts.insert(str(child));
  }
  EXPECT_TRUE(texts.contains("kernel k\ngiven r=2\n  a = conv(x, to=Co/r, stride=yes)\n  b = tanh(a)\n  c = gelu(b)\n"
                             "  d = linear(c, to=Co)\nreturn d\n") ||
              texts.contains("kernel k\n  a = conv(x, to=Co/2, stride=yes)\n  b = tanh(a)\n  c = gelu(b)\n"
                             "  d = linear(c, to=Co)\nreturn d\n"));
}

TEST(Cross, SaysWhatAParentBreaks) {
  const Sampler sampler = sampler_of(no_budget, 1, 10);
  SampleMemory memory(sampler);
  const Kernel good = read("a = conv(x, to=Co, stride=yes)\nreturn a\n");
  const auto reason = cross(sampler, good, read("a = conv(x, to=Ci, stride=yes)\nreturn a\n"), 0, memory);
  ASSERT_TRUE(reason.has_value());
  EXPECT_EQ(reason->rule, "the result has the axes c=Co, h=H, w=W");
  const auto twins = cross(sampler, good, good, 0, memory, {.repair = no_repair});
  ASSERT_TRUE(twins.has_value());
  EXPECT_EQ(twins->rule, "moves: the normal form is another one");
}

}  // namespace
}  // namespace kasimir
