// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/pipeline/layer.h"
#include "kasimir/hardware/pipeline/systolic.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// Reads a SCALE-Sim topology: a header line, then `name, IFMAP height, IFMAP width, filter height, filter width,
/// channels, filters, stride`, with further columns (sparsity) only if they are 1:1. SCALE-Sim rounds the number of
/// outputs up, ceil((H - k) / s) + 1; padding makes our layer have as many. @throws Error (input).
std::vector<ConvLayer> parse_scale_sim_topology(std::string_view text, const std::string& file);
/// Reads SCALE-Sim's table of matrix products: a header line, then `name, M, N, K`. @throws Error (input).
std::vector<ConvLayer> parse_scale_sim_gemms(std::string_view text, const std::string& file);

/// The layers as a topology, groups as layers of their own (`name.1` ..), padding as part of the input.
std::string scale_sim_topology_text(const std::vector<ConvLayer>& layers);
/// The products of the layers (ConvLayer::gemm), one a group.
std::string scale_sim_gemms_text(const std::vector<ConvLayer>& layers);

/// What a SCALE-Sim configuration says of the machine.
struct ScaleSimConfig {
  std::string run_name = "kasimir";
  SystolicArray array;
  int ifmap_kb = 64, filter_kb = 64, ofmap_kb = 64;
  std::int64_t ifmap_offset = 0, filter_offset = 10000000, ofmap_offset = 20000000;
  /// Words per cycle of the three interfaces; one number stands for all. Nothing: calculated, no stalls.
  std::optional<std::vector<double>> bandwidth;
  bool operator==(const ScaleSimConfig&) const = default;
};

/// Reads an INI file of SCALE-Sim v2 or v3 with the sections general, architecture_presets and run_presets; `:` and
/// `=` both separate. Keys of features that are not modelled (sparsity, bank layouts, traces of DRAM) are taken where
/// they switch the feature off and refused by name otherwise; unknown keys are refused. @throws Error (input).
ScaleSimConfig parse_scale_sim_config(std::string_view text, const std::string& file);
std::string scale_sim_config_text(const ScaleSimConfig& config);

}  // namespace kasimir
