// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/export.h"

namespace kasimir {

/// A network as PyTorch source that needs nothing of ours: `model.py` with plain modules whose state dict has the names
/// of `weights` (and the `num_batches_tracked` that PyTorch adds to each batch norm), `load()` and a comparison with
/// `check.safetensors` when it is run; and `weights.safetensors`. Works for any number of images, trains, deep-copies,
/// compiles. A kernel is one class per site, its forward made from its stages.
/// @throws Error (input) as tensors_by_name.
std::vector<ExportedFile> export_pytorch(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                         const ExportNotes& notes = {});

}  // namespace kasimir
