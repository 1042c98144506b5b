// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/number/format.h"

#include <string_view>

namespace kasimir {

/// What values of a tensor span: low <= high, both finite.
struct ValueRange {
  float low = 0;
  float high = 0;
  bool operator==(const ValueRange&) const = default;
};

/// The numbers behind the codes of a tensor: value = step * (code - zero_point) + offset.
struct QuantizerScale {
  float step = 1;               ///< > 0 (the quantizer `original` excepted)
  std::int32_t zero_point = 0;  ///< the code of zero
  float offset = 0;             ///< 0 (the quantizer `original` excepted)
  bool operator==(const QuantizerScale&) const = default;
};

/// A rule that turns ranges into scales and values into codes: a record of the catalog.
struct Quantizer {
  std::string_view name;
  std::string_view brief;
  std::string_view source;
  bool lawful = true;  ///< false: a published form with known faults, kept to compare with
  /// For any range, also one without extent.
  QuantizerScale (*fit)(const ValueRange& range, const IntegerFormat& format) = nullptr;
  /// The value that the code of `value` stands for. Beyond the codes it stays at the end; what is not a number stays.
  float (*quantize)(float value, const QuantizerScale& scale, const IntegerFormat& format) = nullptr;
};

/// clamp(round(value / step) + zero_point), ties to even; `value` is a number and `scale` has no offset.
std::int32_t encode(float value, const QuantizerScale& scale, const IntegerFormat& format);
/// step * (code - zero_point)
float decode(std::int32_t code, const QuantizerScale& scale);
/// decode(encode(value)); what is not a number stays so.
float quantize_by_codes(float value, const QuantizerScale& scale, const IntegerFormat& format);

/// A step that can divide: 1 for 0 (a tensor of zeros, for which any step is exact), at least the least normal float.
float usable_step(float step);

}  // namespace kasimir
