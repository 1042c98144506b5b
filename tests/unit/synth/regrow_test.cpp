// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/moves.h"
#include "unit/synth/children.h"

#include <iostream>
#include <set>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 11;
const Budget no_budget{{}, {}, {}};

std::vector<std::string> first_steps(const Kernel& kernel, int count) {
  std::vector<std::string> texts;
  for (int i = 0; i < count; ++i) texts.push_back(str(kernel.steps[static_cast<std::size_t>(i)]));
  return texts;
}

/// Steps may be written in another order, and free symbols get other numbers: the kinds of steps are what stays.
void expect_begins_as(const Kernel& child, const Kernel& parent, int kept) {
  for (int i = 0; i < kept; ++i) {
    const Primitive* primitive = parent.steps[static_cast<std::size_t>(i)].primitive;
    const auto count_in = [&](const Kernel& kernel, int steps) {
      return std::count_if(kernel.steps.begin(), kernel.steps.begin() + steps,
                           [&](const Step& step) { return step.primitive == primitive; });
    };
    EXPECT_GE(count_in(child, static_cast<int>(child.steps.size())), count_in(parent, kept)) << primitive->name;
  }
}

void expect_legal_ends(const Budget& budget, int least, int most, std::uint64_t count) {
  std::cout << "seed " << seed << '\n';
  const Sampler sampler = testing::sampler_of(budget, least, most, seed);
  const std::vector<Kernel> parents = testing::draw(sampler, 60);
  SampleMemory memory(sampler);
  std::uint64_t found = 0;
  std::set<std::string> children;
  for (std::uint64_t number = 0; number < count; ++number) {
    const Kernel& parent = parents[number % parents.size()];
    const auto kept = static_cast<int>(number / parents.size() % parent.steps.size());
    if (regrow(sampler, parent, kept, number, memory)) continue;
    ++found;
    const Kernel child = sampler.kernel(memory);
    SCOPED_TRACE(fmt::format("number {}, {} kept:\n{}from\n{}", number, kept, str(child), str(parent)));
    testing::expect_child(sampler, child, {&parent, 1});
    expect_begins_as(child, parent, kept);
    children.insert(str(child));
    if (::testing::Test::HasFailure()) return;
  }
  std::cout << found << " of " << count << ", " << children.size() << " of them different\n";
  EXPECT_GT(found, count * 3 / 4);
  EXPECT_GT(children.size(), found * 3 / 4);
}

TEST(Regrow, GivesLegalKernelsWithinARelativeBudget) {
  expect_legal_ends(Budget::parse("macs=0.1..0.5,params=0.1..0.5"), 5, 25, 900);
}

TEST(Regrow, GivesLegalShortKernelsWithoutABudget) { expect_legal_ends(no_budget, 1, 6, 600); }

TEST(Regrow, KeepsTheFirstStepsAsTheyStand) {
  const Sampler sampler = testing::sampler_of(no_budget, 3, 6, seed);
  const Kernel parent = parse_kernel(
      "kernel k\n  a = stride(x)\n  b = shift(a, axes=h, by=1)\n  c = linear(b, to=Co)\nreturn c\n", catalog());
  SampleMemory memory(sampler);
  int found = 0;
  for (std::uint64_t number = 0; number < 50; ++number) {
    if (regrow(sampler, parent, 2, number, memory)) continue;
    ++found;
    EXPECT_EQ(first_steps(sampler.kernel(memory), 2), first_steps(parent, 2)) << str(sampler.kernel(memory));
  }
  EXPECT_GT(found, 40);
}

TEST(Regrow, IsAFunctionOfNumberAndParent) {
  const Sampler sampler = testing::sampler_of(Budget::parse("macs=0.1..0.6,params=0.1..0.6"), 3, 15, seed);
  const std::vector<Kernel> parents = testing::draw(sampler, 10);
  SampleMemory used(sampler);
  for (std::uint64_t i = 5000; i < 5200; ++i) static_cast<void>(sampler.draw(i, used));
  std::set<std::string> children;
  for (std::uint64_t number = 0; number < 30; ++number) {
    SampleMemory fresh(sampler);
    const Kernel& parent = parents[number % parents.size()];
    const auto one = regrow(sampler, parent, 1, number, used);
    const auto two = regrow(sampler, parent, 1, number, fresh);
    ASSERT_EQ(one.has_value(), two.has_value());
    if (one) {
      EXPECT_EQ(*one, *two);
      continue;
    }
    EXPECT_EQ(str(sampler.kernel(used)), str(sampler.kernel(fresh)));
    children.insert(str(sampler.kernel(used)));
  }
  EXPECT_GT(children.size(), 20U);
}

TEST(Regrow, SaysThatTheBeginningIsTooLong) {
  const Sampler sampler = testing::sampler_of(no_budget, 1, 2, seed);
  const Kernel parent = parse_kernel(
      "kernel k\n  a = stride(x)\n  b = shift(a, axes=h, by=1)\n  c = linear(b, to=Co)\nreturn c\n", catalog());
  SampleMemory memory(sampler);
  const auto refused = regrow(sampler, parent, 2, 0, memory);
  ASSERT_TRUE(refused);
  EXPECT_EQ(refused->str(), "growth: the length is within its limits (3 steps would be needed, 2 are allowed)");
}

}  // namespace
}  // namespace kasimir
