// SPDX-License-Identifier: Apache-2.0
// What the budget solver promises, over random kernels.
#include "kasimir/kernel/verify.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "support/counts.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 77;

std::vector<Kernel> kernels_with_free_symbols(const Budget& budget, std::size_t count) {
  SampleOptions options;
  options.budget = budget;
  std::vector<Kernel> kernels;
  const Sampler sampler(catalog(), testing::resnet8_loads(), options, seed);
  SampleMemory memory(sampler);
  for (std::uint64_t i = 0; i < 20'000 && kernels.size() < count; ++i) {
    auto sampled = sampler.attempt(i, memory);
    if (sampled.ok() && !sampled->kernel.fits.empty()) kernels.push_back(std::move(sampled->kernel));
  }
  EXPECT_EQ(kernels.size(), count);
  return kernels;
}

/// The kernel with one value of one site changed.
Kernel with_value(Kernel kernel, std::size_t site, Symbol symbol, std::int64_t value) {
  kernel.fits[site].second.set(symbol, value);
  return kernel;
}

TEST(SolverLaw, RaisingAnyValueByALaneBreaksSomething) {
  const Budget budget = Budget::parse("macs=..0.5,params=..0.5");
  const auto loads = testing::resnet8_loads();
  constexpr std::int64_t lane = 8;
  int checked = 0;
  for (const Kernel& kernel : kernels_with_free_symbols(budget, 120)) {
    SCOPED_TRACE(fmt::format("seed {}:\n{}", seed, str(kernel)));
    for (std::size_t i = 0; i < loads.size(); ++i) {
      for (Symbol symbol : kernel.free_symbols()) {
        const std::int64_t next = (kernel.fits[i].second[symbol] / lane + 1) * lane;
        if (next > 4 * std::max(loads[i].site.ci, loads[i].site.co)) continue;  // as wide as the solver looks
        ++checked;
        const auto graph = lower_at(with_value(kernel, i, symbol, next), loads[i].site, 1);
        if (!graph.ok()) continue;  // some size is not whole
        const testing::Counts counts = testing::count(*graph);
        const bool too_large = std::ranges::any_of(graph->tensors, [](const BoundTensor& tensor) {
          return tensor.role == Role::between && elements(tensor) > SolverOptions().most_elements;
        });
        EXPECT_TRUE(too_large || counts.macs > 0.5 * loads[i].macs || counts.params > 0.5 * loads[i].params)
            << symbol_name(symbol) << " could be " << next << " at " << loads[i].site.str();
      }
    }
  }
  std::cout << "seed " << seed << ": " << checked << " values\n";
  EXPECT_GT(checked, 500);
}

TEST(SolverLaw, UsesMostOfTheBudgetInTheMedian) {
  const Budget budget = Budget::parse("macs=..0.5,params=..0.5");
  const auto loads = testing::resnet8_loads();
  std::vector<double> used;
  for (const Kernel& kernel : kernels_with_free_symbols(budget, 120)) {
    for (const SiteLoad& load : loads) {
      const testing::Counts counts = testing::count(lower_at(kernel, load.site, 1).value());
      used.push_back(std::max(counts.macs / load.macs, counts.params / load.params) / 0.5);
    }
  }
  std::ranges::sort(used);
  std::cout << "seed " << seed << ": the binding limit is used to " << used[used.size() / 4] << " .. "
            << used[used.size() / 2] << " .. " << used[used.size() * 3 / 4] << " (quartiles)\n";
  EXPECT_GE(used[used.size() / 2], 0.88);
  EXPECT_LE(used.back(), 1.0 + 1e-9);
}

TEST(SolverLaw, ValuesAreOnLanesWhereALaneFits) {
  const Budget budget = Budget::parse("macs=..0.5,params=..0.5");
  int on_lane = 0;
  int all = 0;
  for (const Kernel& kernel : kernels_with_free_symbols(budget, 60)) {
    for (const auto& [site, fit] : kernel.fits) {
      for (Symbol symbol : kernel.free_symbols()) {
        ++all;
        on_lane += fit[symbol] % 8 == 0 ? 1 : 0;
        EXPECT_TRUE(fit[symbol] % 8 == 0 || fit[symbol] < 8) << str(kernel);
      }
    }
  }
  EXPECT_GT(on_lane, all / 2);
}

}  // namespace
}  // namespace kasimir
