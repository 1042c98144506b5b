// SPDX-License-Identifier: Apache-2.0
// What may be sampled: the limits are checked, and kept by every kernel.
#include "kasimir/kernel/verify.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "support/thrown.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

/// What the check says of limits after a change.
template <typename Change>
std::string error_of(Change change) {
  GrowthLimits limits;
  change(limits);
  return testing::thrown_by([&] {
    limits.check(catalog());
    return 0;
  });
}

TEST(GrowthLimits, NameNearPrimitives) {
  EXPECT_EQ(error_of([](GrowthLimits& l) { l.allow = {"conv", "unfld"}; }),
            "2: unknown primitive `unfld`, did you mean `unfold`?");
  EXPECT_EQ(error_of([](GrowthLimits& l) { l.forbid = {"Relu"}; }),
            "2: unknown primitive `Relu`, did you mean `relu` or `gelu`?");
  EXPECT_EQ(error_of([](GrowthLimits& l) { l.require = {"linar"}; }),
            "2: unknown primitive `linar`, did you mean `linear`?");
}

TEST(GrowthLimits, RefuseAContradiction) {
  EXPECT_EQ(error_of([](GrowthLimits& l) {
              l.forbid = {"conv"};
              l.require = {"conv"};
            }),
            "2: the primitive `conv` is required and not allowed at once");
  EXPECT_EQ(error_of([](GrowthLimits& l) {
              l.allow = {"linear"};
              l.require = {"conv"};
            }),
            "2: the primitive `conv` is required and not allowed at once");
}

TEST(GrowthLimits, RefuseMoreRequiredPrimitivesThanAKernelHas) {
  EXPECT_EQ(error_of([](GrowthLimits& l) {
              l.min_primitives = l.max_primitives = 1;
              l.require = {"conv", "relu"};
            }),
            "2: 2 primitives are required in kernels of at most 1");
}

TEST(GrowthLimits, RefuseImpossibleNumbers) {
  EXPECT_EQ(error_of([](GrowthLimits& l) { l.min_primitives = 0; }),
            "2: kernels of 0..12 primitives were asked for; the range must lie within 1..40");
  EXPECT_EQ(error_of([](GrowthLimits& l) {
              l.min_primitives = 5;
              l.max_primitives = 4;
            }),
            "2: kernels of 5..4 primitives were asked for; the range must lie within 1..40");
  EXPECT_EQ(error_of([](GrowthLimits& l) { l.max_primitives = 41; }),
            "2: kernels of 3..41 primitives were asked for; the range must lie within 1..40");
  EXPECT_EQ(error_of([](GrowthLimits& l) { l.max_width = 0; }),
            "2: a width of 0 was asked for; it must lie within 1..8");
  EXPECT_EQ(error_of([](GrowthLimits& l) { l.max_width = 9; }),
            "2: a width of 9 was asked for; it must lie within 1..8");
  EXPECT_EQ(error_of([](GrowthLimits& l) { l.composites = -0.5; }),
            "2: composites were given the weight -0.5; it must lie within 0..1000");
  EXPECT_EQ(error_of([](GrowthLimits&) {}), "nothing was thrown");
}

TEST(Sampler, NeedsASite) {
  EXPECT_EQ(testing::thrown_by([] { return Sampler(catalog(), {}, {}, 1).seed(); }),
            "2: there is no site to sample kernels for");
}

TEST(Sampler, NeedsAPrimitive) {
  SampleOptions options;
  options.limits.allow = {"conv"};
  options.limits.forbid = {"conv"};
  EXPECT_EQ(testing::thrown_by([&] { return Sampler(catalog(), testing::resnet8_loads(), options, 1).seed(); }),
            "2: no primitive is left: all that are allowed are forbidden too");
}

std::vector<Kernel> kernels(SampleOptions options, std::size_t count) {
  std::vector<Kernel> all;
  const Sampler sampler(catalog(), testing::resnet8_loads(), std::move(options), 5);
  sample(sampler, count, 20'000, 1, [&](const Sampled& sampled) { all.push_back(sampled.kernel); });
  EXPECT_EQ(all.size(), count);
  return all;
}

std::set<std::string_view> names(const Kernel& kernel) {
  std::set<std::string_view> used;
  for (const Step& step : kernel.steps) used.insert(step.primitive->name);
  return used;
}

TEST(Sampler, UsesOnlyWhatIsAllowed) {
  SampleOptions options;
  options.limits.allow = {"conv", "linear", "relu", "stride", "broadcast", "norm"};
  options.limits.forbid = {"norm"};
  const std::set<std::string_view> allowed{"conv", "linear", "relu", "stride", "broadcast"};
  for (const Kernel& kernel : kernels(options, 40))
    for (std::string_view name : names(kernel)) EXPECT_TRUE(allowed.contains(name)) << str(kernel);
}

TEST(Sampler, UsesNothingThatIsForbidden) {
  SampleOptions options;
  options.limits.forbid = {"conv", "matmul"};
  for (const Kernel& kernel : kernels(options, 40)) {
    EXPECT_FALSE(names(kernel).contains("conv")) << str(kernel);
    EXPECT_FALSE(names(kernel).contains("matmul")) << str(kernel);
  }
}

TEST(Sampler, UsesEverythingThatIsRequired) {
  SampleOptions options;
  options.limits.require = {"shift", "linear", "fold"};
  for (const Kernel& kernel : kernels(options, 20))
    for (const char* name : {"shift", "linear", "fold"})
      EXPECT_TRUE(names(kernel).contains(name)) << name << "\n" << str(kernel);
}

TEST(Sampler, KeepsTheNumberOfPrimitives) {
  SampleOptions options;
  options.limits.min_primitives = 4;
  options.limits.max_primitives = 6;
  std::set<std::size_t> sizes;
  for (const Kernel& kernel : kernels(options, 60)) sizes.insert(kernel.steps.size());
  EXPECT_EQ(sizes, (std::set<std::size_t>{4, 5, 6}));
}

/// The most tensors that are still to be read after some step.
std::ptrdiff_t width(const Kernel& kernel) {
  std::ptrdiff_t most = 0;
  for (std::size_t grown = 1; grown <= kernel.steps.size(); ++grown) {
    std::vector<bool> read(grown + 1, false);
    for (std::size_t i = 0; i < grown; ++i)
      for (int operand : kernel.steps[i].operands) read[static_cast<std::size_t>(operand)] = true;
    most = std::max<std::ptrdiff_t>(most, std::count(read.begin(), read.end(), false));
  }
  return most;
}

TEST(Sampler, KeepsTheWidth) {
  for (int limit : {1, 2, 3}) {
    SampleOptions options;
    options.limits.max_width = limit;
    options.limits.min_primitives = 10;
    options.limits.max_primitives = 20;
    std::ptrdiff_t most = 0;
    for (const Kernel& kernel : kernels(options, 60)) most = std::max(most, width(kernel));
    EXPECT_EQ(most, limit);
  }
}

TEST(Sampler, KeepsWeightsFreeOfTheResolutionUnlessAsked) {
  SampleOptions options;
  options.limits.allow = {"mix", "linear", "conv", "scale", "stride", "relu"};
  const auto depends = [](const Kernel& kernel) {
    std::vector<Site> sites;
    for (const SiteLoad& load : testing::resnet8_loads()) sites.push_back(load.site);
    return !independent_of_resolution(lower(kernel, SiteSet(sites, kernel.choices)).value());
  };
  EXPECT_EQ(std::ranges::count_if(kernels(options, 60), depends), 0);
  options.limits.weights_may_depend_on_resolution = true;
  options.budget = Budget::parse("macs=..4,params=..4");
  EXPECT_GT(std::ranges::count_if(kernels(options, 60), depends), 0);
}

TEST(Sampler, KeepsWhatIsWantedOfTheView) {
  SampleOptions options;
  options.wanted = {false, false, false};
  bool pointwise = false;
  bool unmixed = false;
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, 8);
  sample(sampler, 150, 20'000, 1, [&](const Sampled& sampled) {
    EXPECT_FALSE(sampled.label.view.is_global) << str(sampled.kernel);
    EXPECT_FALSE(sampled.label.view.is_blind) << str(sampled.kernel);
    pointwise = pointwise || !sampled.label.view.sees_neighbourhood;
    unmixed = unmixed || !sampled.label.view.mixes_channels;
  });
  EXPECT_TRUE(pointwise);
  EXPECT_TRUE(unmixed);
  sample(Sampler(catalog(), testing::resnet8_loads(), {}, 8), 100, 20'000, 1, [&](const Sampled& sampled) {
    EXPECT_TRUE(sampled.label.view.sees_height && sampled.label.view.sees_width) << str(sampled.kernel);
    EXPECT_TRUE(sampled.label.view.mixes_channels) << str(sampled.kernel);
  });
}

}  // namespace
}  // namespace kasimir
