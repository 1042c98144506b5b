// SPDX-License-Identifier: Apache-2.0
#include "kasimir/sampling.h"

#include "kasimir/base/text.h"

#include <algorithm>

namespace kasimir {

Error nothing_found(const Sampler& sampler, const SampleStats& stats, std::size_t found, std::size_t wanted) {
  Error error = unsolved_error("{} of {} kernels found in {} attempts", found, wanted,
                               grouped(static_cast<std::int64_t>(stats.attempts)));
  error.note(fmt::format("asked: --budget {} with {}..{} primitives", sampler.options().budget.str(),
                         sampler.options().limits.min_primitives, sampler.options().limits.max_primitives));
  std::vector<std::pair<std::string, std::int64_t>> rules(stats.rejected.begin(), stats.rejected.end());
  std::ranges::stable_sort(rules, std::greater(), &std::pair<std::string, std::int64_t>::second);
  for (const auto& [rule, count] : rules) {
    const std::string& last = stats.example.at(rule);
    error.note(fmt::format("{:>9}  {}{}", grouped(count), rule, last.empty() ? "" : ", last: " + last));
  }
  error.note("try a wider budget, more primitives, or fewer that are forbidden or required");
  return error;
}

void check_space_of(const Sampler& sampler) {
  constexpr std::uint64_t attempts = 4000;  // some three in ten attempts are legal within usual budgets
  std::size_t found = 0;
  const SampleStats stats = sample(sampler, 1, attempts, 1, [&](const Sampled&) { ++found; });
  if (found == 0) throw nothing_found(sampler, stats, 0, 1);
}

}  // namespace kasimir
