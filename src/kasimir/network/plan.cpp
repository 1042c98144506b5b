// SPDX-License-Identifier: Apache-2.0
#include "kasimir/network/plan.h"

namespace kasimir {

NetworkPlan replace_with(const Network& network, const std::vector<SiteRef>& sites, const Kernel& kernel) {
  NetworkPlan plan{&network, {}};
  for (const SiteRef& site : sites) plan.replaced.emplace(site.layer, std::pair(kernel, site.site));
  return plan;
}

}  // namespace kasimir
