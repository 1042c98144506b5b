// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/export.h"
#include "kasimir/network/quantization.h"

namespace kasimir {

/// The network at inference as `model.onnx`, and `check.py`, which compares it with `check.safetensors` by ONNX
/// Runtime: operator set 17, standard operators only, weights inside. Input `images` [N, c, h, w], output `scores` [N,
/// classes], for any N. Layers are the operators of their names; a kernel's stages are Conv where they are a windowed
/// sum, else views, Einsum, element-wise functions and reductions. Batch norm stays an operator of its own, which every
/// runtime joins with the convolution before it.
///
/// In places of `quantization` both operands go through QuantizeLinear and DequantizeLinear, which runtimes turn into
/// integer operators: weights of up to 8 bits are stored as codes of 8 bits, activations of fewer bits are clipped
/// before; batch norm behind a convolution (folded_norms) becomes part of it, with a bias in 32 bits where all are of 8
/// bits. Operator set 17 has no codes of 16 bits: these are numbers that were rounded. Missing places stay in floating
/// point.
/// @throws Error (input) as tensors_by_name and require_fits, and for a model beyond the 2 GiB of a protobuf file.
std::vector<ExportedFile> export_onnx(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                      const ExportNotes& notes = {}, const Quantization& quantization = {});

}  // namespace kasimir
