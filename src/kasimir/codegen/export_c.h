// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/export.h"
#include "kasimir/codegen/network_c.h"

#include <filesystem>

namespace kasimir {

struct ExportCOptions {
  std::int64_t batch = 1;  ///< images of one run
  int threads = 1;
  /// The machine's own processor, which must be `target`: at most about so long each nest's methods are measured.
  double tune_seconds = 0;
  std::filesystem::path tuning_cache = {};  ///< what was measured before; empty: none
  std::optional<CTarget> target = {};       ///< nothing: any processor, chosen where the program runs
  Quantization quantization = {};           ///< its places multiply whole numbers; the check is of such a network
};

/// The network as plain C with its weights: `net.h`, `net.c`, `net.weights` (floats, little-endian, in the order that
/// `net.h` lists), `net_main.c` (a program that checks and times it) and a `Makefile` whose `check` runs the network on
/// stored images and compares the scores. @throws Error (input) for tensors that are missing, and for networks that
/// cannot be lowered, with the rule; Error (unsolved) where tuning is asked for and not even the default runs.
std::vector<ExportedFile> export_c(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                   const ExportNotes& notes, const ExportCheck& check, const ExportCOptions& options);

}  // namespace kasimir
