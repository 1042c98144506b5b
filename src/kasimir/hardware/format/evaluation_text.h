// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/evaluate.h"

#include <nlohmann/json_fwd.hpp>

#include <string>
#include <string_view>

/// Evaluations for programs: every count per level and operand, and the totals.
namespace kasimir {

/// `{"problem", "architecture", "mapping", "fits", "violations": [..], "levels": [{"level", "operand", "instances",
/// "footprint", "bits", "reads", "fills", "updates", "energy_pj"}, ..], "totals": {"cycles", "compute_cycles",
/// "stall_cycles", "level_cycles": {..}, "energy_pj", "energy_pj_by": {..}, "utilization", "area_um2"}}`; counts are
/// of one instance, energies of all.
nlohmann::json evaluation_json(const CostModel& model, const Mapping& mapping, const Evaluation& evaluation);

/// The columns of `evaluation_csv`, as its first line.
std::string_view evaluation_csv_header();
/// One line per level and operand, then one with level `total`: what has no meaning in a line is empty. `name` is the
/// first column; commas and quotes in it are quoted.
std::string evaluation_csv(std::string_view name, const CostModel& model, const Evaluation& evaluation);

}  // namespace kasimir
