// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/nest/nest.h"
#include "kasimir/network/lower.h"
#include "kasimir/network/quantization.h"
#include "kasimir/number/format.h"

/// Quantised places as stages. A place `y = sum of x * w` becomes
///
///     x.codes = x / step             written to a tensor of codes: rounded to the nearest, ties to even, and clamped
///     y.sums  = sum of x.codes * w   of whole numbers; the weight holds codes
///     y       = y.sums * scale       step of the activation times step of the channel
///
/// so that everything behind stages (passes, nests, methods) treats them as it treats all else.
namespace kasimir {

/// Tensors of codes by their names in the graph.
using CodeTensors = std::map<std::string, IntegerFormat>;

struct QuantizedGraph {
  NetworkGraph network;
  CodeTensors codes;
};

/// Places that read the same activation with the same format and step share its codes. @throws Error (input) for places
/// that the network lacks, formats that are not legal, and steps that are not positive or not as many as channels.
QuantizedGraph quantized(NetworkGraph network, const Quantization& quantization);

/// What quantized() adds to the tensors of a network: weights of places are codes, steps and scales are tensors of
/// their own. Tensors that are no weight of a place stay. @throws Error (input) for a place that the weights lack, and
/// for one whose values its steps cannot share or are not all finite.
std::vector<NamedTensor> quantized_tensors(const std::vector<NamedTensor>& weights, const Quantization& quantization);

/// Says which tensors of the program are codes: those of the graph and what passes made of them. Codes of a value that
/// others read too are written with it (Nest::also). The batch is not cut yet.
void mark_codes(NestProgram& program, const CodeTensors& codes);

}  // namespace kasimir
