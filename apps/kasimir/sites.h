// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"
#include "kasimir/network/sites.h"
#include "kasimir/synth/budget.h"

#include <nlohmann/json.hpp>

#include <string>
#include <vector>

namespace kasimir {

/// The distinct sites of a selection as the sampler sees them.
std::vector<SiteLoad> site_loads(const std::vector<SiteRef>& sites);

/// The kernel of a file, with values for its free sizes at all sites: those that it has, or else ones within the
/// budget.
/// @throws Error (input) as parse_and_check; Error (unsolved) where there are no values.
Kernel read_kernel(const std::string& file, const std::vector<SiteLoad>& loads, const Budget& budget = {});

/// Sites for the study's record, which the report reads.
nlohmann::json site_records(const std::vector<SiteRef>& sites);

}  // namespace kasimir
