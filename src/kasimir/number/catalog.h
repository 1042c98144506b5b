// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/number/number_format.h"
#include "kasimir/number/quantizer.h"
#include "kasimir/number/range.h"

#include <span>
#include <string_view>
#include <vector>

namespace kasimir {

/// Every format, quantizer and estimator, in the order of the lists in number/CMakeLists.txt.
std::vector<NumberFormat> number_formats();
std::span<const Quantizer* const> quantizers();
std::span<const RangeEstimator* const> range_estimators();

/// The record of that name. @throws Error (input): "unknown quantizer `afine`, did you mean `affine`?".
NumberFormat number_format(std::string_view name);
const Quantizer& quantizer(std::string_view name);
const RangeEstimator& range_estimator(std::string_view name);

}  // namespace kasimir
