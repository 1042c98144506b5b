// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/check.h"
#include "kasimir/hardware/pipeline/auto_nba.h"

#include <filesystem>
#include <string>
#include <vector>

namespace kasimir {

/// Compares the models of pipelines and templates with the numbers in the folder `reference`
/// (tests/reference/hardware; SOURCES-pipelines.md says where they are from). @throws Error (input) on a missing file
/// or a wrong line.
std::vector<CheckRow> check_pipelines(const std::filesystem::path& reference);

/// The parts, in the order of check_pipelines.
std::vector<CheckRow> check_auto_nba(const std::filesystem::path& reference);
std::vector<CheckRow> check_templates(const std::filesystem::path& reference);

/// One of the networks in auto_nba_networks.csv: question, design, and the released predictor's answer.
struct NbaReference {
  NbaNetwork network;
  NbaDesign design;
  std::map<std::string, double> chunk_cycles;  ///< of chunks with layers
  std::vector<double> block_cycles;
  double bottleneck = 0, dsp = 0, bram18 = 0, fps = 0;
  std::size_t layers = 0;
};
std::vector<NbaReference> read_nba_references(const std::filesystem::path& file);

}  // namespace kasimir
