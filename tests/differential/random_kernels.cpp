// SPDX-License-Identifier: Apache-2.0
#include "random_kernels.h"

#include "kasimir/base/text.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <set>

namespace kasimir {
namespace {

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

std::vector<SiteLoad> loads_of(const std::vector<Site>& sites) {
  std::vector<SiteLoad> loads;
  for (const Site& site : sites) {
    const auto params = static_cast<double>(9 * site.ci * site.co);
    loads.push_back({site, 1, params * static_cast<double>(site.h * site.w), params});
  }
  return loads;
}

}  // namespace

std::size_t wanted_kernels(std::size_t few) {
  const char* text = std::getenv("KASIMIR_RANDOM_KERNELS");
  return text == nullptr ? few : static_cast<std::size_t>(parse_integer(text).value_or(static_cast<int>(few)));
}

std::size_t for_random_kernels(std::uint64_t seed, std::size_t count,
                               const std::function<void(const RandomKernel&)>& visit) {
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  const auto sets = site_sets();
  const auto primitives = primitive_names(catalog());
  std::set<std::string_view> seen;
  std::size_t drawn = 0;
  for (std::size_t i = 0; drawn < count; ++i) {
    const auto& sites = sets[i % sets.size()];
    SampleOptions options = anything_small();
    options.limits.require = {primitives[i % primitives.size()]};
    const Sampler sampler(catalog(), loads_of(sites), options, seed);
    SampleMemory memory(sampler);
    for (std::uint64_t attempt = i * 50; attempt < (i + 1) * 50; ++attempt) {
      auto sampled = sampler.attempt(attempt, memory);
      if (!sampled.ok()) continue;
      for (const Step& step : sampled->kernel.steps) seen.insert(step.primitive->name);
      visit({std::move(sampled->kernel), sites[i / sets.size() % sites.size()], static_cast<std::int64_t>(1 + i % 3),
             drawn, fmt::format("seed {} attempt {}", seed, attempt)});
      ++drawn;
      break;
    }
    if (i > 20 * count) {
      ADD_FAILURE() << "too few attempts are legal";
      break;
    }
  }
  std::printf("%zu kernels with %zu of %zu primitives\n", drawn, seen.size(), primitives.size());
  if (count >= 100) {
    EXPECT_EQ(seen.size(), primitives.size());
  }
  return seen.size();
}

}  // namespace kasimir
