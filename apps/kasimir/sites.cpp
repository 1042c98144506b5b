// SPDX-License-Identifier: Apache-2.0
#include "kasimir/sites.h"

namespace kasimir {

std::vector<SiteLoad> site_loads(const std::vector<SiteRef>& sites) {
  std::vector<SiteLoad> loads;
  for (const DistinctSite& site : distinct_sites(sites)) {
    const auto count = static_cast<double>(site.count);
    loads.push_back({site.site, site.count, static_cast<double>(site.cost.macs) / count,
                     static_cast<double>(site.cost.params) / count});
  }
  return loads;
}

nlohmann::json site_records(const std::vector<SiteRef>& sites) {
  nlohmann::json records = nlohmann::json::array();
  for (const DistinctSite& site : distinct_sites(sites))
    records.push_back(
        {{"site", site.site.str()}, {"count", site.count}, {"macs", site.cost.macs}, {"params", site.cost.params}});
  return records;
}

}  // namespace kasimir
