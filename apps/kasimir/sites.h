// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/sites.h"
#include "kasimir/synth/budget.h"

#include <nlohmann/json.hpp>

#include <vector>

namespace kasimir {

/// The distinct sites of a selection as the sampler sees them.
std::vector<SiteLoad> site_loads(const std::vector<SiteRef>& sites);

/// The same for the study's record, which the report reads.
nlohmann::json site_records(const std::vector<SiteRef>& sites);

}  // namespace kasimir
