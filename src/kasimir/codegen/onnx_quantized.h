// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/onnx_graph.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

/// A quantised weight: its codes, and the step of each of them.
struct OnnxCodes {
  std::vector<std::int32_t> values;
  std::vector<float> steps;
};

/// @throws Error (input) for values that are not finite.
OnnxCodes onnx_codes(const NamedTensor& weight, const QuantizedPlace& place);

/// Multiplies the slices along the first axis, which are as many as there are factors: into the steps, and where a
/// factor is negative into the codes. False, and nothing is done, where a factor is 0 or not finite or a code has no
/// opposite.
bool multiply_codes(OnnxCodes& codes, const std::vector<double>& factors, const IntegerFormat& format);

/// An activation as the place's codes, and back to numbers.
std::string onnx_quantized(OnnxGraph& onnx, const std::string& x, const QuantizedPlace& place, const std::string& wish);

/// A weight as codes with a DequantizeLinear behind them; codes of more than 8 bits as numbers.
std::string onnx_weight(OnnxGraph& onnx, const std::string& name, const ArrayShape& shape, const OnnxCodes& codes,
                        const QuantizedPlace& place);

/// A bias beside such a weight, one number per slice along its first axis: as codes of 32 bits whose step is the
/// product of the operands' steps, where both are of 8 bits; for coarser steps as numbers.
std::string onnx_bias(OnnxGraph& onnx, const std::string& name, const std::vector<float>& bias, const OnnxCodes& codes,
                      const QuantizedPlace& place);

}  // namespace kasimir
