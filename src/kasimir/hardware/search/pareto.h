// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/product_costs.h"

namespace kasimir {

/// Drops the rows that another row beats or equals in all components (within 1e-12 of a value). The first of equal
/// rows stays.
void keep_pareto_rows(FactorTable& table, std::size_t components);

}  // namespace kasimir
