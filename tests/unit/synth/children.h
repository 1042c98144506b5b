// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "unit/synth/loads.h"
#include "unit/synth/within.h"

/// What the tests of moves share.
namespace kasimir::testing {

inline Sampler sampler_of(const Budget& budget, int least, int most, std::uint64_t seed) {
  SampleOptions options;
  options.budget = budget;
  options.limits.min_primitives = least;
  options.limits.max_primitives = most;
  return {catalog(), resnet8_loads(), options, seed};
}

inline std::vector<Kernel> draw(const Sampler& sampler, std::size_t count) {
  SampleMemory memory(sampler);
  std::vector<Kernel> kernels;
  for (std::uint64_t i = 0; kernels.size() < count; ++i)
    if (!sampler.draw(i, memory)) kernels.push_back(sampler.kernel(memory));
  return kernels;
}

/// Legal, within the budget and the limits, whole as a text, and no parent.
inline void expect_child(const Sampler& sampler, const Kernel& child, std::span<const Kernel> parents) {
  expect_within(child, sampler.sites(), sampler.options().budget);
  const GrowthLimits& limits = sampler.options().limits;
  EXPECT_GE(static_cast<int>(child.steps.size()), limits.min_primitives);
  EXPECT_LE(static_cast<int>(child.steps.size()), limits.max_primitives);
  EXPECT_EQ(str(parse_kernel(str(child), catalog())), str(child));
  const auto symbols = child.free_symbols();
  EXPECT_EQ(child.fits.size(), symbols.empty() ? 0 : sampler.sites().size());
  for (std::size_t i = 0; i < symbols.size(); ++i) EXPECT_EQ(symbols[i], free_symbol(static_cast<int>(i)));
  std::vector<Site> sites;
  for (const SiteLoad& load : sampler.sites()) sites.push_back(load.site);
  const auto identity_of = [&](const Kernel& kernel) { return identity(kernel, SiteSet(sites, kernel.choices)); };
  for (const Kernel& parent : parents) EXPECT_NE(identity_of(child), identity_of(parent)) << str(parent);
}

}  // namespace kasimir::testing
