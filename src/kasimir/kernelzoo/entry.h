// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/kernel.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// The zoo of kernels: what was found, with what was measured of it. One text file per kernel: the kernel's own text,
/// which every command reads as it is, with facts in TOML in comment lines that begin with `#:`. docs/zoo.md describes
/// it.
namespace kasimir::kernelzoo {

/// Measured on one network with the kernel in place of convolutions. Shares are 0..1. What was not measured is absent.
struct Result {
  std::string network;               ///< of the networks that Kasimir builds
  std::optional<double> width;       ///< absent: 1
  std::optional<std::string> input;  ///< "3x32x32"; absent, as classes: what the network was published for
  std::optional<std::int64_t> classes;
  std::vector<std::string> replace;  ///< as --replace and --keep
  std::vector<std::string> keep;
  std::optional<std::int64_t> macs;  ///< of the whole network for one image
  std::optional<std::int64_t> params;

  std::optional<std::string> data;
  std::optional<std::string> recipe;
  std::optional<std::int64_t> seeds;  ///< trainings that accuracies are the mean of; spreads are standard deviations
  std::optional<double> validation, validation_spread, test, test_spread;
  std::optional<double> original_validation, original_validation_spread, original_test, original_test_spread;

  std::optional<double> latency_ratio;  ///< of the whole network, over the original's beside it; below 1 is faster
  std::optional<double> latency_ms, original_ms;
  std::optional<std::string> engine;  ///< "native": generated C; "eager": eager PyTorch
  std::optional<std::string> machine;
  std::optional<std::int64_t> batch, threads;

  std::optional<std::string> architecture;  ///< an accelerator's, as --arch
  std::optional<double> cycles, original_cycles;
  std::optional<double> energy_uj, original_energy_uj;

  std::optional<std::string> program;  ///< name and version of what measured
  std::string command;                 ///< that printed the numbers
};

struct Entry {
  std::filesystem::path file;
  std::string text;   ///< of the whole file
  Kernel kernel;      ///< its name is the file's
  std::string brief;  ///< its first comment
  std::optional<std::string> fingerprint;
  std::vector<Result> results;
};

/// @throws Error (input) as parse_kernel; for facts that are no TOML, unknown keys, values of another type or out of
/// range, and results without what their numbers need (a validation accuracy without the original's), each with its
/// place.
Entry parse_entry(std::string text, Catalog catalog, const std::filesystem::path& file);

/// The text of a file, without its licence: the brief as a comment, the kernel with its fits, the facts.
std::string str(const Entry& entry);

}  // namespace kasimir::kernelzoo
