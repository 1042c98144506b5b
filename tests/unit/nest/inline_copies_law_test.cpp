// SPDX-License-Identifier: Apache-2.0
// Inlining over thousands of sampled kernels: the same numbers, the same rules.
#include "kasimir/interp/real.h"
#include "kasimir/kernel/verify.h"
#include "kasimir/nest/inline_copies.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"

#include <gtest/gtest.h>

#include <iostream>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 41;

/// Small sites with stride, Ci != Co, H != W, and a map smaller than the windows.
std::vector<SiteLoad> loads() {
  std::vector<SiteLoad> all;
  for (const Site site : {Site{4, 4, 3, 4, 1}, Site{4, 8, 1, 2, 2}}) {
    const auto params = static_cast<double>(9 * site.ci * site.co);
    all.push_back({site, 1, params * static_cast<double>(site.h * site.w), params});
  }
  return all;
}

std::vector<double> run(const BoundGraph& graph, TensorValues<double> values) {
  RealDomain domain;
  evaluate(graph, domain, values);
  return values[static_cast<std::size_t>(graph.output)];
}

TEST(InlineCopiesLaw, KeepsValuesAndRulesOfRandomKernels) {
  SampleOptions options;
  options.limits.max_primitives = 8;
  options.budget = Budget::parse("macs=..10,params=..10");
  options.wanted = {false, false, true};
  options.solver.lane = 2;
  const Sampler sampler(catalog(), loads(), options, seed);
  SampleMemory memory(sampler);
  constexpr std::size_t wanted = 2000;
  std::size_t kernels = 0;
  std::size_t before = 0;
  std::size_t after = 0;
  Rng rng(seed);
  std::uint64_t i = 0;
  for (; i < 100'000 && kernels < wanted; ++i) {
    const auto sampled = sampler.attempt(i, memory);
    if (!sampled.ok()) continue;
    ++kernels;
    const Site site = loads()[i % 2].site;
    const BoundGraph training = lower_at(sampled->kernel, site, 2).value();
    const BoundGraph result = inline_copies(training);
    const auto broken = verify(result);
    ASSERT_FALSE(broken.has_value()) << broken->str() << "\nseed " << seed << " attempt " << i << "\n"
                                     << str(sampled->kernel);
    const TensorValues<double> values = random_values(training, rng);
    ASSERT_EQ(run(result, values), run(training, values)) << "seed " << seed << " attempt " << i << "\n"
                                                          << str(sampled->kernel);
    before += training.stages.size();
    after += result.stages.size();
  }
  std::cout << "seed " << seed << ": " << kernels << " kernels in " << i << " attempts, " << before << " stages became "
            << after << "\n";
  EXPECT_EQ(kernels, wanted);
  EXPECT_LT(after, before * 9 / 10);
}

}  // namespace
}  // namespace kasimir
