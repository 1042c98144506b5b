// SPDX-License-Identifier: Apache-2.0
#include "kasimir/trial_plan.h"

#include "kasimir/base/error.h"
#include "kasimir/kernel/binding_at.h"
#include "kasimir/kernel/cost.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/study/assignment.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
NetworkPlan trial_plan(const study::Trial& trial, const Network& network, const std::vector<SiteRef>& sites,
                       const KernelOf& kernel_of) {
  const auto read = [](const std::string& text, int number) {
    return parse_kernel(text, catalog(), fmt::format("trial {}", number));
  };
  NetworkPlan plan{&network, {}};
  if (trial.kernel.empty()) return plan;
  if (!study::is_assignment(trial.kernel)) return replace_with(network, sites, read(trial.kernel, trial.number));
  for (const auto& [name, number] : study::parse_assignment(trial.kernel)) {
    const auto found = std::ranges::find(sites, name, &SiteRef::name);
    if (found == sites.end())
      throw input_error("trial {}: network {} has no site {}", trial.number, network.name(), name);
    if (number != 0) plan.replaced.emplace(found->layer, std::pair(read(kernel_of(number), number), found->site));
  }
  return plan;
}

study::Counts counts_at(const NetworkPlan& plan, const std::vector<SiteRef>& sites) {
  study::Counts counts;
  for (const SiteRef& site : sites) {
    const auto found = plan.replaced.find(site.layer);
    if (found == plan.replaced.end()) {
      counts.macs += site.cost.macs;
      counts.params += site.cost.params;
      continue;
    }
    const Kernel& kernel = found->second.first;
    const auto graph = lower(kernel, SiteSet({site.site}, kernel.choices));
    KASIMIR_CHECK(graph.ok(), "kernel {} at {}: {}", kernel.name, site.name, graph.rejection().str());
    const Cost of = cost(*graph);
    const auto binding = binding_at(kernel, site.site);
    KASIMIR_CHECK(binding, "kernel {} has no values for its free symbols at {}", kernel.name, site.name);
    counts.macs += std::llround(of.macs.value_at(*binding));
    counts.params += std::llround(of.params.value_at(*binding));
  }
  return counts;
}

}  // namespace kasimir
