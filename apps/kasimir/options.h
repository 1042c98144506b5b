// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/network.h"

#include <CLI/CLI.hpp>

#include <filesystem>
#include <string>
#include <utility>
#include <vector>

namespace kasimir {

/// Options that several commands share: which network, which of its convolutions, which kernels.
struct CommonOptions {
  std::string network = "resnet8";
  std::string input;  ///< "3x224x224"; empty: what the network was published for, or what the data has
  double width = 1.0;
  std::vector<std::string> replace;
  std::vector<std::string> keep;
  std::string budget;
  std::string primitives;
  int max_width = 3;
  std::vector<std::string> allow;
  std::vector<std::string> forbid;
  std::vector<std::string> require;
  std::uint64_t seed = 1;
  bool allow_pointwise = false;
  bool allow_unmixed = false;
  bool allow_resolution = false;
  std::string want;
};
void add_network_options(CLI::App& app, CommonOptions& options);
void add_kernel_options(CLI::App& app, CommonOptions& options);

/// "90", "90s", "40m", "1.5h" as seconds. @throws Error (input).
double parse_seconds(const std::string& text);
/// "3..12" or "5". @throws Error (input).
std::pair<int, int> parse_range(const std::string& text);
/// "3x224x224"; empty gives zeros. @throws Error (input).
Shape3 parse_input(const std::string& text);

/// The command as it was typed, but for passwords, for the record.
std::string own_command();

/// This program's own file.
std::string own_path();

/// Where this user's tuning results are kept: `kasimir/tuning.txt` in $XDG_CACHE_HOME, or in ~/.cache; empty where
/// neither is known.
std::filesystem::path tuning_cache_path();

}  // namespace kasimir
