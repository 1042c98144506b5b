// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/export.h"

namespace kasimir {

/// The network at inference as `model.onnx`, and `check.py`, which compares it with `check.safetensors` by ONNX
/// Runtime: operator set 17, standard operators only, weights inside. Input `images` [N, c, h, w], output `scores` [N,
/// classes], for any N. Layers are the operators of their names; a kernel's stages are Conv where they are a windowed
/// sum, else views, Einsum, element-wise functions and reductions. Batch norm stays an operator of its own, which every
/// runtime joins with the convolution before it.
/// @throws Error (input) as tensors_by_name, and for a model beyond the 2 GiB of a protobuf file.
std::vector<ExportedFile> export_onnx(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                      const ExportNotes& notes = {});

}  // namespace kasimir
