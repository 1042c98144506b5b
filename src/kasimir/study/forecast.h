// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/ladder_config.h"
#include "kasimir/study/store.h"

#include <optional>

namespace kasimir::study {

/// Measured seconds of one unit of `rung_cost`, the mean over the last finished jobs; nothing before the first.
std::optional<double> seconds_per_cost(const Store& store, const LadderConfig& config);

/// Predicted seconds of the rung `longer` for `candidates` finished candidates and the original, on all workers.
double longer_seconds(const LadderConfig& config, int candidates, double unit);
/// The same for finalists, the original and the latency phase.
double finalist_seconds(const LadderConfig& config, int candidates, double unit);

}  // namespace kasimir::study
