// SPDX-License-Identifier: Apache-2.0
// Laws of whole kernels, sampled so that each primitive of the catalog occurs.
#include "kasimir/interp/field.h"
#include "kasimir/interp/real.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/nest/inline_copies.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "support/array.h"

#include <gtest/gtest.h>

#include <iostream>
#include <map>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 20250612;
constexpr std::uint64_t attempts = 4000;
constexpr std::size_t wanted = 8;

/// Two sites, stride 2 and Ci != Co among them, with room enough for anything.
std::vector<SiteLoad> loads() {
  const auto load = [](Site site) {
    const auto params = static_cast<double>(9 * site.ci * site.co);
    return SiteLoad{site, 1, params * static_cast<double>(site.h * site.w), params};
  };
  return {load({8, 8, 4, 5, 1}), load({8, 16, 2, 3, 2})};
}

/// Kernels in which the primitive occurs.
std::vector<Kernel> sample_with(const Primitive& primitive) {
  SampleOptions options;
  options.limits.min_primitives = 1;
  options.limits.max_primitives = 7;
  options.limits.require = {std::string(primitive.name)};
  options.budget = Budget::parse("macs=..20,params=..20");
  options.wanted = {false, false, true};
  const Sampler sampler(catalog(), loads(), options, seed);
  SampleMemory memory(sampler);
  std::vector<Kernel> kernels;
  std::uint64_t i = 0;
  for (; i < attempts && kernels.size() < wanted; ++i)
    if (auto sampled = sampler.attempt(i, memory); sampled.ok()) kernels.push_back(std::move(sampled->kernel));
  std::cout << "seed " << seed << ", " << kernels.size() << " kernels in " << i << " attempts\n";
  return kernels;
}

/// The same, drawn once for all laws.
const std::vector<Kernel>& kernels_with(const Primitive& primitive) {
  static std::map<const Primitive*, std::vector<Kernel>> sampled;
  auto& kernels = sampled[&primitive];
  if (kernels.empty()) kernels = sample_with(primitive);
  return kernels;
}

class KernelLaws : public ::testing::TestWithParam<const Primitive*> {
 protected:
  template <typename Check>
  void for_many(Check check) {
    const auto& kernels = kernels_with(*GetParam());
    EXPECT_EQ(kernels.size(), wanted);
    for (const Kernel& kernel : kernels) {
      SCOPED_TRACE(fmt::format("seed {}:\n{}", seed, str(kernel)));
      check(kernel);
      if (HasFatalFailure()) return;
    }
  }

  template <typename Check>
  void for_many_bound(Check check) {
    for_many([&](const Kernel& kernel) {
      for (const SiteLoad& load : loads()) {
        const auto graph = lower_at(kernel, load.site, 2);
        ASSERT_TRUE(graph.ok()) << graph.rejection().str();
        check(*graph);
      }
    });
  }
};

TEST_P(KernelLaws, TextRoundTrips) {
  for_many([](const Kernel& kernel) {
    const Kernel again = parse_kernel(str(kernel), catalog());
    EXPECT_EQ(str(again), str(kernel));
    EXPECT_EQ(again.steps, kernel.steps);
    EXPECT_EQ(again.choices, kernel.choices);
    EXPECT_EQ(again.output, kernel.output);
    EXPECT_EQ(again.fits, kernel.fits);
  });
}

TEST_P(KernelLaws, StagesKeepTheVerifiersRulesAtEverySite) {
  for_many_bound([](const BoundGraph& graph) {
    for (const BoundGraph& each : {graph, freeze(graph), inline_copies(graph), inline_copies(freeze(graph))}) {
      const auto broken = verify(each);
      EXPECT_FALSE(broken.has_value()) << broken->str();
    }
  });
}

TEST_P(KernelLaws, TheResultHasTheOutputsShape) {
  for_many([](const Kernel& kernel) {
    for (const SiteLoad& load : loads()) {
      const auto graph = lower_at(kernel, load.site, 3);
      ASSERT_TRUE(graph.ok());
      const auto& axes = graph->tensors[static_cast<std::size_t>(graph->output)].axes;
      const std::vector<BasicAxis<Bound>> expected{{AxisKind::batch, 3},
                                                   {AxisKind::channel, load.site.co},
                                                   {AxisKind::height, load.site.h},
                                                   {AxisKind::width, load.site.w}};
      EXPECT_EQ(axes, expected);
    }
  });
}

TEST_P(KernelLaws, SamplesAreIndependentAtInference) {
  for_many_bound([](const BoundGraph& training) {
    const BoundGraph graph = freeze(training);
    Rng rng(seed, 1);
    TensorValues<double> values = random_values(graph, rng);
    for (std::size_t t = 0; t < graph.tensors.size(); ++t)
      if (graph.tensors[t].role == Role::stat)
        values[t].assign(static_cast<std::size_t>(elements(graph.tensors[t])), 0.5);
    TensorValues<double> changed = values;
    auto& input = changed[static_cast<std::size_t>(graph.input)];
    for (std::size_t i = input.size() / 2; i < input.size(); ++i) input[i] += 1.0;
    RealDomain domain;
    evaluate(graph, domain, values);
    evaluate(graph, domain, changed);
    const auto& before = values[static_cast<std::size_t>(graph.output)];
    const auto& after = changed[static_cast<std::size_t>(graph.output)];
    for (std::size_t i = 0; i < before.size() / 2; ++i) ASSERT_EQ(before[i], after[i]);
  });
}

INSTANTIATE_TEST_SUITE_P(Catalog, KernelLaws, ::testing::ValuesIn(catalog().begin(), catalog().end()),
                         [](const auto& primitive) { return std::string(primitive.param->name); });

}  // namespace
}  // namespace kasimir
