// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/dictionary.h"
#include "kasimir/train/trainer.h"

#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace kasimir {

/// How far a training is.
struct TrainingState {
  std::int64_t steps = 0;
  std::vector<EpochRow> curve;  ///< finished epochs
};

/// Writes the state after an epoch, so that a process that ends at any time leaves a whole file behind. `mark` says of
/// what training it is. @throws Error (system) if the file cannot be written.
void save_checkpoint(const std::filesystem::path& path, const std::string& mark, const TrainingState& state,
                     const NamedState& tensors);

/// Fills the tensors and returns the state; nothing if there is no such file. @throws Error (input) if it is no
/// checkpoint, or one of another training.
std::optional<TrainingState> load_checkpoint(const std::filesystem::path& path, const std::string& mark,
                                             const NamedState& tensors);

}  // namespace kasimir
