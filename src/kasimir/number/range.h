// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/number/quantizer.h"

#include <span>
#include <string_view>

namespace kasimir {

/// A rule that says which range of a tensor's values its codes shall cover: a record of the catalog.
struct RangeEstimator {
  std::string_view name;
  std::string_view brief;
  std::string_view source;
  /// `sorted` holds finite values in ascending order, so that the range cannot depend on the order in which they came;
  /// none give the range 0 .. 0.
  ValueRange (*estimate)(std::span<const float> sorted, const IntegerFormat& format,
                         const Quantizer& quantizer) = nullptr;
};

/// The range between the quantiles 1 - share and share (nearest rank) of ascending values.
ValueRange percentile_range(std::span<const float> sorted, double share);

/// The mean squared error of the quantised values.
double quantization_error(std::span<const float> values, const Quantizer& quantizer, const QuantizerScale& scale,
                          const IntegerFormat& format);

}  // namespace kasimir
