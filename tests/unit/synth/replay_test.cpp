// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/replay.h"

#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/normal_form.h"
#include "kasimir/synth/sampler.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <set>

namespace kasimir {
namespace {

World world_at(const std::vector<Site>& sites, std::vector<Binding> choices) {
  std::vector<SiteLoad> loads;
  for (const Site& site : sites) loads.push_back(testing::conv_load(site));
  World::Options options;
  options.weights.assign(catalog().size(), 1.0);
  options.choices = std::move(choices);
  return {catalog(), loads, options};
}

Binding choice_of(std::int64_t g, std::int64_t r) { return Binding().set(Symbol::g, g).set(Symbol::r, r); }

const Site same{8, 8, 4, 5, 2};
const Site wider{8, 16, 2, 3, 2};
const Site plain{16, 16, 4, 6, 1};

Kernel read(const std::string& steps) { return parse_kernel("kernel k\ngiven g=4 r=2\n" + steps, catalog()); }

std::string reason_of(World& world, const std::string& steps) {
  int choice = -1;
  const auto replayed = replay(world, read(steps), &choice);
  return replayed.ok() ? "" : replayed.rejection().str();
}

// --- replay -------------------------------------------------------------------------------------------------------

/// What growth made, as text, gives growth's steps again.
TEST(Replay, GivesTheStepsThatGrew) {
  constexpr std::uint64_t seed = 11;
  SampleOptions options;
  options.budget = {{}, {}, {}};
  options.limits.min_primitives = 1;
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, seed);
  SampleMemory memory(sampler);
  int kernels = 0;
  for (std::uint64_t i = 0; i < 3000; ++i) {
    if (sampler.draw(i, memory)) continue;
    ++kernels;
    World& world = memory.growth().world();
    const Kernel kernel = sampler.kernel(memory);
    int choice = -1;
    const auto replayed = replay(world, parse_kernel(str(kernel), catalog()), &choice);
    ASSERT_TRUE(replayed.ok()) << "seed " << seed << " attempt " << i << ": " << replayed.rejection().str() << "\n"
                               << str(kernel);
    ASSERT_EQ(replayed->size(), memory.growth().steps().size());
    for (std::size_t k = 0; k < replayed->size(); ++k) {
      const GrownStep& step = memory.growth().steps()[k];
      EXPECT_EQ((*replayed)[k].written.move, step.written.move) << "seed " << seed << " attempt " << i << " step " << k;
      EXPECT_EQ((*replayed)[k].operands, step.operands);
    }
    EXPECT_EQ(open_symbols(world, *replayed), memory.growth().open_symbols());
  }
  EXPECT_GE(kernels, 2500);
}

TEST(Replay, NumbersFreeSymbolsInTheOrderOfTheirFirstUse) {
  World world = world_at({plain}, {choice_of(2, 2), choice_of(4, 2)});
  int choice = -1;
  const auto steps = replay(
      world, read("a = linear(x, to=x4)\nb = linear(a, to=x1)\nc = conv(b, to=Co, groups=g)\nreturn c\n"), &choice);
  ASSERT_TRUE(steps.ok()) << steps.rejection().str();
  EXPECT_EQ(choice, 1);
  const Kernel kernel = to_kernel(world, choice, *steps);
  EXPECT_EQ(str(kernel.steps[0]), "linear(x, to=x0)");
  EXPECT_EQ(str(kernel.steps[1]), "linear(a, to=x1)");
  EXPECT_EQ(open_symbols(world, *steps), 2);
}

TEST(Replay, NamesTheRuleAndTheStep) {
  World world = world_at({plain}, {choice_of(2, 2), choice_of(4, 2)});
  EXPECT_EQ(reason_of(world, "a = conv(x, to=Co)\nreturn a\n"), "");
  EXPECT_EQ(reason_of(world, "a = group(x, by=3)\nb = merge(a)\nreturn b\n"),
            "group: the factor divides the channels (in `a = group(x, by=3)`)");
  EXPECT_EQ(reason_of(world, "a = conv(x, to=Co/r)\nreturn a\n"),
            "the result has the axes c=Co, h=H, w=W ([c=Co/2, h=H, w=W])");
  EXPECT_EQ(reason_of(world, "a = relu(x)\nb = linear(x, to=Co)\nreturn b\n"), "every step is used (in `a = relu(x)`)");
  Kernel other = read("a = conv(x, to=Co, groups=g)\nreturn a\n");
  other.choices.set(Symbol::g, 8);
  int choice = -1;
  EXPECT_EQ(replay(world, other, &choice).rejection().str(),
            "the choice symbols have values that the sampler draws at these sites (g=8)");
}

// --- what growth can draw -----------------------------------------------------------------------------------------

/// The steps that growth cannot draw, as texts.
std::vector<std::string> not_offered(World& world, const Kernel& kernel) {
  int choice = -1;
  const auto steps = replay(world, kernel, &choice);
  EXPECT_TRUE(steps.ok()) << kernel.name << ": " << steps.rejection().str();
  std::vector<std::string> found;
  for (std::size_t k = 0; steps.ok() && k < steps->size(); ++k)
    if (!offered(world, *steps, k, choice)) found.push_back(str(kernel.steps[k]));
  return found;
}

TEST(Offered, KnowsOptionsAndShapeMatching) {
  World world = world_at({wider}, {choice_of(4, 2)});
  const auto missing = [&](const std::string& steps) { return not_offered(world, read(steps)); };
  using Steps = std::vector<std::string>;
  EXPECT_EQ(missing("a = conv(x, to=Co, stride=yes)\nreturn a\n"), Steps{});
  EXPECT_EQ(missing("a = conv(x, to=Co, window=9, stride=yes)\nreturn a\n"),
            Steps{"conv(x, to=Co, window=9, stride=yes)"});
  // Ci is no width that is drawn, but what a free width becomes beside a tensor of Ci channels.
  EXPECT_EQ(missing("a = stride(x)\nb = linear(a, to=Ci)\nc = linear(b, to=Co)\nreturn c\n"),
            Steps{"linear(a, to=Ci)"});
  EXPECT_EQ(missing("a = stride(x)\nb = linear(a, to=Ci)\nc = relu(b)\nd = broadcast(c, a, op=mul)\n"
                    "e = linear(d, to=Co)\nreturn e\n"),
            Steps{});
  // One tensor is never read twice by one step.
  EXPECT_EQ(missing("a = conv(x, to=Co, stride=yes)\nb = broadcast(a, a, op=mul)\nreturn b\n"),
            Steps{"broadcast(a, a, op=mul)"});
}

// --- the kernels that people wrote ----------------------------------------------------------------------------------

std::vector<Kernel> hand_written() {
  std::vector<Kernel> kernels;
  for (const auto& file : std::filesystem::directory_iterator(KASIMIR_SOURCE_DIR "/examples/kernels"))
    kernels.push_back(parse_kernel(read_file(file.path()), catalog(), file.path().string()));
  std::ranges::sort(kernels, {}, &Kernel::name);
  return kernels;
}

Binding choices_of(const Kernel& kernel) {
  Binding choice = choice_of(4, 4);
  for (Symbol symbol : {Symbol::g, Symbol::r})
    if (kernel.choices.has(symbol)) choice.set(symbol, kernel.choices[symbol]);
  return choice;
}

/// Steps that growth cannot draw, "kernel: step" each; kernels that are illegal at the sites are named in `illegal`.
std::set<std::string> not_offered(const std::vector<Site>& sites, std::set<std::string>& illegal) {
  std::set<std::string> found;
  for (const Kernel& kernel : hand_written()) {
    if (!lower(kernel, SiteSet(sites, kernel.choices)).ok()) {
      illegal.insert(kernel.name);
      continue;
    }
    World world = world_at(sites, {choices_of(kernel)});
    for (const std::string& step : not_offered(world, without_idle_strides(world, kernel)))
      found.insert(kernel.name + ": " + step);
  }
  return found;
}

TEST(HandWritten, EveryStepIsOfferedAtSitesOfEqualChannels) {
  std::set<std::string> illegal;
  EXPECT_EQ(not_offered({same}, illegal), std::set<std::string>{});
  EXPECT_EQ(not_offered({plain}, illegal), std::set<std::string>{});
  EXPECT_EQ(illegal, std::set<std::string>{});
}

/// Widths are drawn as Co, Co/r or a free symbol. Where channels out differ from channels in at some site, a width of
/// Ci is only what shape matching makes of a free one, and Ci/r nothing.
TEST(HandWritten, SomeStepsAreNotOfferedWhereChannelsDiffer) {
  std::set<std::string> illegal;
  EXPECT_EQ(not_offered({plain, wider}, illegal), (std::set<std::string>{"involution: linear(a, to=Ci/r)"}));
  EXPECT_EQ(illegal, std::set<std::string>{"depthwise"});
}

TEST(HandWritten, HaveNoStepThatLocalRulesRefuse) {
  for (const auto& sites : {std::vector{plain}, std::vector{same}}) {
    for (const Kernel& kernel : hand_written()) {
      World world = world_at(sites, {choices_of(kernel)});
      NormalFormer former(world);
      int choice = 0;
      const auto steps = replay(world, without_idle_strides(world, kernel), &choice);
      ASSERT_TRUE(steps.ok()) << kernel.name << ": " << steps.rejection().str();
      for (std::size_t k = 0; k < steps->size(); ++k)
        for (const std::int16_t operand : (*steps)[k].operands)
          EXPECT_FALSE(operand > 0 && former.wastes((*steps)[static_cast<std::size_t>(operand) - 1].written.move,
                                                    (*steps)[k].written.move))
              << kernel.name << " step " << k;
    }
  }
}

TEST(HandWritten, LoseStridesWhereNoSiteHasOne) {
  World world = world_at({plain}, {choice_of(4, 4)});
  std::size_t shorter = 0;
  for (const Kernel& kernel : hand_written()) {
    const Kernel without = without_idle_strides(world, kernel);
    for (const Step& step : without.steps) EXPECT_EQ(str(step).find("stride"), std::string::npos) << str(without);
    shorter += without.steps.size() < kernel.steps.size() ? 1 : 0;
  }
  EXPECT_GE(shorter, 7U);
  World strided = world_at({same}, {choice_of(4, 4)});
  for (const Kernel& kernel : hand_written()) EXPECT_EQ(str(without_idle_strides(strided, kernel)), str(kernel));
}

}  // namespace
}  // namespace kasimir
