// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/quantization.h"

#include <string>
#include <string_view>

namespace kasimir {

/// A quantisation as JSON: {"format": "kasimir quantization 1", "places": {NAME: {"weight": "sint8", "activation":
/// "uint8", "channel_axes": 1, "weight_steps": [..], "activation_step": ..}}}. Steps are written so that they are read
/// back equal.
std::string quantization_text(const Quantization& quantization);

/// Reads what quantization_text writes. Other keys beside "format" and "places" are left alone. @throws Error (input)
/// with the file, the place and what is wrong: no such JSON, a missing or unknown key, bits that no format has, steps
/// that are not above 0.
Quantization parse_quantization(std::string_view text, const std::string& file);

}  // namespace kasimir
