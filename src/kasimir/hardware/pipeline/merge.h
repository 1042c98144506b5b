// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/solver.h"

#include <array>
#include <vector>

namespace kasimir {

/// Amounts of dsp, bram18, lut, dram bits in this order.
using Amounts = std::array<double, 4>;
Amounts amounts(const Resources& resources);
Resources resources(const Amounts& amounts);
/// The limits of a budget for designs of `cycles` per frame.
Amounts limits_at(const ResourceBudget& budget, double cycles);

/// The cheapest choice of one option for each chunk.
struct CheapestChoice {
  bool found = false;
  bool exact = true;  ///< false: states were dropped, so that `found` = false proves nothing, and found is not cheapest
  double price = 0;
  std::vector<std::size_t> choice;
};

/// Minimises the sum of price . amounts over one option of at most `cycles` for each chunk, with sums within `limits`.
CheapestChoice cheapest_choice(const std::vector<std::vector<ChunkOption>>& chunks, double cycles,
                               const Amounts& limits, const Amounts& price, std::size_t max_states);

}  // namespace kasimir
