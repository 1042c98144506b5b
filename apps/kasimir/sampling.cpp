// SPDX-License-Identifier: Apache-2.0
#include "kasimir/sampling.h"
#include "kasimir/sites.h"

#include "kasimir/base/text.h"
#include "kasimir/primitive/catalog.h"

#include <algorithm>
#include <limits>

namespace kasimir {

namespace {

using Count = std::pair<std::string, std::int64_t>;

std::vector<Count> by_frequency(const std::map<std::string, std::int64_t>& counts) {
  std::vector<Count> sorted(counts.begin(), counts.end());
  std::ranges::stable_sort(sorted, std::greater(), &Count::second);
  return sorted;
}

/// What kernels cost here when nothing limits them: the smallest and the largest share of what is replaced, at the site
/// where each is highest, over some kernels that are legal but for the budget.
std::string cost_without_budget(const Sampler& sampler) {
  SampleOptions free = sampler.options();
  free.budget = {{.high = 8.0}, {.high = 8.0}};
  const Sampler unlimited(sampler.catalog(), sampler.sites(), free, sampler.seed());
  constexpr std::size_t wanted = 200;
  double macs[2] = {std::numeric_limits<double>::infinity(), 0.0};
  double params[2] = {std::numeric_limits<double>::infinity(), 0.0};
  std::size_t found = 0;
  sample(unlimited, wanted, 10 * wanted, 1, [&](const Sampled& sampled) {
    ++found;
    const auto widen = [&](double(&range)[2], const std::vector<double>& cost, double SiteLoad::* replaced) {
      double share = 0.0;
      for (std::size_t i = 0; i < cost.size(); ++i) share = std::max(share, cost[i] / sampler.sites()[i].*replaced);
      range[0] = std::min(range[0], share);
      range[1] = std::max(range[1], share);
    };
    widen(macs, sampled.cost.macs, &SiteLoad::macs);
    widen(params, sampled.cost.params, &SiteLoad::params);
  });
  if (found == 0) return "without a budget nothing is found either: the limits on primitives are too narrow";
  return fmt::format(
      "without that budget {} kernels cost macs={:.2g}..{:.2g} and params={:.2g}..{:.2g} of what is replaced", found,
      macs[0], macs[1], params[0], params[1]);
}

}  // namespace

Budget sampling_budget(const std::string& text) {
  if (text.empty()) return {};
  const Budget budget = Budget::parse(text);
  if (budget.latency.given())
    throw input_error("the budget `{}` limits latency, which this command does not measure", text)
        .note("leave it out here; `kasimir search` predicts and measures it");
  if (budget.accelerator.given())
    throw input_error("the budget `{}` limits the cost on an accelerator, which this command does not compute", text)
        .note("leave it out here; `kasimir search --accelerator` computes it");
  return budget;
}

Error nothing_found(const Sampler& sampler, const SampleStats& stats, std::size_t found, std::size_t wanted) {
  Error error = unsolved_error("{} of {} kernels found in {} attempts", found, wanted,
                               grouped(static_cast<std::int64_t>(stats.attempts)));
  error.note(fmt::format("asked: --budget {} with {}..{} primitives", sampler.options().budget.str(),
                         sampler.options().limits.min_primitives, sampler.options().limits.max_primitives));
  for (const auto& [rule, count] : by_frequency(stats.rejected)) {
    const std::string& nearest = stats.nearest.at(rule);
    error.note(fmt::format("{:>9}  {}{}", grouped(count), rule, nearest.empty() ? "" : ", nearest: " + nearest));
  }
  if (const std::uint64_t known = stats.seen[static_cast<std::size_t>(Novelty::same_form)] +
                                  stats.seen[static_cast<std::size_t>(Novelty::same_function)];
      known > 0)
    error.note(fmt::format("{:>9}  the kernel was not seen before", grouped(static_cast<std::int64_t>(known))));
  std::string refused;
  constexpr std::size_t shown = 3;
  for (const auto& [rule, count] : by_frequency(stats.refused)) {
    if (std::ranges::count(refused, ';') + 1 >= static_cast<std::ptrdiff_t>(shown)) break;
    refused += (refused.empty() ? "" : "; ") + fmt::format("{} ({} times)", rule, grouped(count));
  }
  if (!refused.empty()) error.note("steps refused while growing, mostly: " + refused);
  error.note(cost_without_budget(sampler));
  error.note("try a wider budget, more primitives, or fewer that are forbidden or required");
  return error;
}

void check_space_of(const Sampler& sampler) {
  constexpr std::uint64_t attempts = 4000;  // some three in ten attempts are legal within usual budgets
  std::size_t found = 0;
  const SampleStats stats = sample(sampler, 1, attempts, 1, [&](const Sampled&) { ++found; });
  if (found == 0) throw nothing_found(sampler, stats, 0, 1);
}

std::vector<Kernel> bench_kernels_of(const std::string& file, const std::vector<SiteLoad>& loads,
                                     const SampleOptions& sampling, std::uint64_t seed, int count) {
  constexpr std::uint64_t most_attempts = 1'000'000;
  if (!file.empty()) return {read_kernel(file, loads, sampling.budget)};
  const Sampler sampler(catalog(), loads, sampling, seed);
  SampleMemory memory(sampler);
  std::vector<Kernel> kernels;
  for (std::uint64_t i = 0; std::ssize(kernels) < count && i < most_attempts; ++i)
    if (auto drawn = sampler.attempt(i, memory); drawn.ok()) kernels.push_back(std::move(drawn->kernel));
  return kernels;
}

}  // namespace kasimir
