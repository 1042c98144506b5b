// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/number/range.h"

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

namespace kasimir {

/// Scales for a tensor whose values lie as `slices` equal parts one after another: one scale per part (per channel), or
/// one for all where `slices` is 1. The result does not depend on the order within a part. Values may be missing
/// altogether: the scale is then that of zeros.
/// @throws Error (input) that names `where` (the tensor), how many values are not finite and the first of them.
std::vector<QuantizerScale> fit_scales(std::string_view where, std::span<const float> values, std::int64_t slices,
                                       const Quantizer& quantizer, const RangeEstimator& estimator,
                                       const IntegerFormat& format);

/// The codes of a tensor with these scales, as they come from fit_scales.
/// @throws Error (input) as fit_scales.
std::vector<std::int32_t> encode_all(std::string_view where, std::span<const float> values,
                                     std::span<const QuantizerScale> scales, const IntegerFormat& format);

}  // namespace kasimir
