// SPDX-License-Identifier: Apache-2.0
#include "check_kernel.h"

#include "kasimir/base/text.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace kasimir {
namespace {

/// Number of kernels: KASIMIR_RANDOM_KERNELS, for long runs; a few in every test run.
std::size_t wanted_kernels() {
  const char* text = std::getenv("KASIMIR_RANDOM_KERNELS");
  return static_cast<std::size_t>(text == nullptr ? 120 : parse_integer(text).value_or(120));
}

/// Small sites of all kinds: plain, Ci below and above Co, strided, a map of one position, windows larger than the map.
std::vector<std::vector<Site>> site_sets() {
  return {
      {{8, 8, 5, 6, 1}}, {{4, 8, 3, 4, 2}, {8, 8, 3, 4, 1}}, {{16, 8, 4, 3, 1}}, {{4, 4, 1, 1, 1}}, {{4, 8, 2, 3, 3}}};
}

SampleOptions anything_small() {
  SampleOptions options;
  options.limits.min_primitives = 2;
  options.limits.max_primitives = 9;
  options.limits.weights_may_depend_on_resolution = true;
  options.budget = Budget::parse("macs=..3,params=..3");
  options.wanted = {.channel_mixing = false, .neighbourhood = false, .allow_global = true};
  options.solver = {.lane = 2, .most_elements = 1 << 13};
  return options;
}

TEST(RandomKernels, AtenComputesWhatTheInterpreterComputesAndItsGradients) {
  constexpr std::uint64_t seed = 20260;
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const auto sets = site_sets();
  const auto primitives = primitive_names(catalog());
  std::set<std::string_view> seen;
  double worst_value = 0.0;
  double worst_gradient = 0.0;
  std::size_t checked = 0;
  for (std::size_t i = 0; checked < wanted_kernels(); ++i) {
    const auto& sites = sets[i % sets.size()];
    std::vector<SiteLoad> loads;
    for (const Site& site : sites) {
      const auto params = static_cast<double>(9 * site.ci * site.co);
      loads.push_back({site, 1, params * static_cast<double>(site.h * site.w), params});
    }
    SampleOptions options = anything_small();
    options.limits.require = {primitives[i % primitives.size()]};  // every primitive gets its turn
    const Sampler sampler(catalog(), loads, options, seed);
    SampleMemory memory(sampler);
    for (std::uint64_t attempt = i * 50; attempt < (i + 1) * 50; ++attempt) {
      const auto sampled = sampler.attempt(attempt, memory);
      if (!sampled.ok()) continue;
      ++checked;
      for (const Step& step : sampled->kernel.steps) seen.insert(step.primitive->name);
      const Site& site = sites[i / sets.size() % sites.size()];
      const auto batch = static_cast<std::int64_t>(1 + i % 3);
      const KernelDifference found =
          check_kernel(sampled->kernel, site, batch, seed + i, i % 2 == 0 ? Peepholes{} : Peepholes::none());
      EXPECT_TRUE(found.within(1e-9)) << "seed " << seed << " attempt " << attempt << " site " << site.str()
                                      << " batch " << batch << "\nvalue " << found.value << " gradient "
                                      << found.gradient << " frozen " << found.frozen << ' ' << found.reason << '\n'
                                      << str(sampled->kernel);
      worst_value = std::max(worst_value, found.value);
      worst_gradient = std::max(worst_gradient, found.gradient);
      break;
    }
    ASSERT_LT(i, 20 * wanted_kernels()) << "too few attempts are legal";
  }
  std::printf("%zu kernels with %zu of %zu primitives; largest difference %.1e in values, %.1e in gradients\n", checked,
              seen.size(), primitives.size(), worst_value, worst_gradient);
  if (wanted_kernels() >= 100) {
    EXPECT_EQ(seen.size(), primitives.size());
  }
}

}  // namespace
}  // namespace kasimir
