// SPDX-License-Identifier: Apache-2.0
// What the budget solver promises, over random kernels.
#include "kasimir/kernel/verify.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/sampler.h"
#include "kasimir/synth/solver.h"
#include "support/counts.h"
#include "unit/synth/loads.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iostream>
#include <limits>

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

/// The share of the binding limit of half of the MACs and parameters.
double use_of_half(const Kernel& kernel, const SiteLoad& load) {
  const testing::Counts counts = testing::count(lower_at(kernel, load.site, 1).value());
  return std::max(counts.macs / load.macs, counts.params / load.params) / 0.5;
}

TEST(SolverLaw, RaisingAnyValueByALaneBreaksSomething) {
  const Budget budget = Budget::parse("macs=..0.5,params=..0.5");
  const auto loads = testing::resnet8_loads();
  constexpr std::int64_t lane = 8;
  int checked = 0;
  // Sites that are kept from being much wider than others leave some of the budget on purpose.
  std::vector<Site> sites;
  for (const SiteLoad& load : loads) sites.push_back(load.site);
  SolverOptions any_balance;
  any_balance.most_imbalance = std::numeric_limits<double>::infinity();
  for (Kernel& kernel : kernels_with_free_symbols(budget, 120)) {
    ASSERT_TRUE(fit(kernel, lower(kernel, SiteSet(sites, kernel.choices)).value(), loads, budget, any_balance).ok());
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
      used.push_back(use_of_half(kernel, load));
    }
  }
  std::ranges::sort(used);
  std::cout << "seed " << seed << ": the binding limit is used to " << used[used.size() / 4] << " .. "
            << used[used.size() / 2] << " .. " << used[used.size() * 3 / 4] << " (quartiles)\n";
  EXPECT_GE(used[used.size() / 2], 0.88);
  EXPECT_LE(used.back(), 1.0 + 1e-9);
}

TEST(SolverLaw, ValuesAreOffTheirLaneOnlyWhereThatLeavesTheBudgetUnused) {
  const Budget budget = Budget::parse("macs=..0.5,params=..0.5");
  const auto loads = testing::resnet8_loads();
  int on_lane = 0;
  int all = 0;
  for (const Kernel& kernel : kernels_with_free_symbols(budget, 60)) {
    for (std::size_t i = 0; i < loads.size(); ++i) {
      for (Symbol symbol : kernel.free_symbols()) {
        const std::int64_t value = kernel.fits[i].second[symbol];
        ++all;
        on_lane += value % 8 == 0 ? 1 : 0;
        const std::int64_t lane = value / 8 * 8;
        if (value % 8 == 0 || lane == 0) continue;
        const Kernel lower = with_value(kernel, i, symbol, lane);
        if (!lower_at(lower, loads[i].site, 1).ok()) continue;  // some size is not whole
        EXPECT_LT(use_of_half(lower, loads[i]), SolverOptions().enough_use) << str(kernel);
      }
    }
  }
  EXPECT_GT(on_lane, all / 2);
}

}  // namespace
}  // namespace kasimir
