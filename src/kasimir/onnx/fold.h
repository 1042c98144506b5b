// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/onnx/constant.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// Values that an operator may make of fewer ones: far more than shapes and masks need.
inline constexpr std::int64_t most_folded = std::int64_t{1} << 24;

/// The first result of an operator whose inputs are all known; null inputs are those that are left out. Nothing for an
/// operator that is not computed here. @throws Error (input) for inputs that do not fit each other.
std::optional<OnnxConstant> fold(const OnnxNode& node, const std::vector<const OnnxConstant*>& inputs,
                                 const OnnxTensorReader& reader);

/// True for an operator that fold() computes.
bool folds(std::string_view op);

/// The operators that fold() computes.
std::vector<std::string> folded_operators();

}  // namespace kasimir
