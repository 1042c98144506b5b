// SPDX-License-Identifier: Apache-2.0
#include "kasimir/sites.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/synth/solver.h"

#include <algorithm>

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

Kernel read_kernel(const std::string& file, const std::vector<SiteLoad>& loads, const Budget& budget) {
  std::vector<Site> places;
  for (const SiteLoad& load : loads) places.push_back(load.site);
  Kernel kernel = parse_and_check(read_file(file), catalog(), SiteSet(places, {}), file);
  const bool complete = std::ranges::all_of(places, [&](const Site& site) {
    const Binding fit = kernel.fit_at(site);
    return std::ranges::all_of(kernel.free_symbols(), [&](Symbol symbol) { return fit.has(symbol); });
  });
  if (complete) return kernel;
  const auto fitted = fit(kernel, *lower(kernel, SiteSet(places, kernel.choices)), loads, budget, {});
  if (!fitted.ok()) throw unsolved_error("no values for the free sizes of {}: {}", file, fitted.rejection().str());
  return kernel;
}

nlohmann::json site_records(const std::vector<SiteRef>& sites) {
  nlohmann::json records = nlohmann::json::array();
  for (const DistinctSite& site : distinct_sites(sites))
    records.push_back(
        {{"site", site.site.str()}, {"count", site.count}, {"macs", site.cost.macs}, {"params", site.cost.params}});
  return records;
}

}  // namespace kasimir
