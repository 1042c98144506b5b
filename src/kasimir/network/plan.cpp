// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/plan.h"

#include "kasimir/base/error.h"

namespace kasimir {

NetworkPlan replace_with(const Network& network, const std::vector<SiteRef>& sites, const Kernel& kernel) {
  NetworkPlan plan{&network, {}};
  for (const SiteRef& site : sites) plan.replaced.emplace(site.layer, std::pair(kernel, site.site));
  return plan;
}

Outcome<NetworkPlan> plan_at_size(const NetworkPlan& plan, const Network& other) {
  NetworkPlan result{&other, {}};
  for (const auto& [layer, replaced] : plan.replaced) {
    const auto& [kernel, site] = replaced;
    const std::string& name = plan.network->layer(layer).name;
    if (layer >= static_cast<int>(other.layers().size()) || other.layer(layer).name != name)
      throw input_error("{} has no layer {} at place {} for images of {}", other.name(), name, layer,
                        other.input().str());
    const auto there = site_of(other, layer);
    if (!there.ok()) return there.rejection();
    Kernel same = kernel;
    same.fits = {{*there, kernel.fit_at(site)}};
    const auto graph = lower(same, SiteSet({*there}, same.choices));
    if (!graph.ok()) return graph.rejection();
    result.replaced.emplace(layer, std::pair(std::move(same), *there));
  }
  return result;
}

}  // namespace kasimir
