// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/check.h"
#include "kasimir/hardware/cost_model.h"

#include <filesystem>
#include <vector>

/// The evaluator against numbers from outside. tests/reference/hardware/SOURCES-engine.md says where they come from.
namespace kasimir {

/// A layer and its mapping on a Gemmini-like machine, from the data of DOSA (MICRO 2023).
struct DosaRun {
  std::string set;  ///< of gemmini_firesim.csv; empty for Timeloop's runs
  CostModel model;  ///< counts words, by the rules of that data
  Mapping mapping;
  double cycles = 0;     ///< Timeloop's, or those of the RTL
  double energy_uj = 0;  ///< Timeloop's; 0 for the RTL
};

/// Reads dosa_timeloop_sample.csv or gemmini_firesim.csv. @throws Error (input) naming file and line.
std::vector<DosaRun> read_dosa_runs(const std::filesystem::path& file);

/// Counts of one operand at one level in Timeloop's published outputs.
struct TimeloopCount {
  std::size_t level = 0;
  std::size_t operand = 0;  ///< of the problem
  double reads = 0, fills = 0, updates = 0, capacity = 0, instances = 0;
};

struct TimeloopCase {
  std::string name;
  CostModel model;
  Mapping mapping;
  std::vector<TimeloopCount> counts;
};

/// Reads timeloop_golden_counts.txt. @throws Error (input) naming the file and what is wrong.
std::vector<TimeloopCase> read_timeloop_cases(const std::filesystem::path& file);

/// All comparisons of the evaluator with the files in the folder: Timeloop's counts, cycles and energies, and Gemmini's
/// RTL. @throws Error (input) if a file is missing.
std::vector<CheckRow> check_engine(const std::filesystem::path& reference);

}  // namespace kasimir
