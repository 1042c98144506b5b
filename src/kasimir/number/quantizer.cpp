// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/quantizer.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kasimir {

std::int32_t encode(float value, const QuantizerScale& scale, const IntegerFormat& format) {
  KASIMIR_CHECK(!std::isnan(value), "a code for what is not a number");
  const auto lowest = static_cast<float>(format.lowest() - scale.zero_point);
  const auto highest = static_cast<float>(format.highest() - scale.zero_point);
  const float rounded = std::nearbyint(value / scale.step);
  return static_cast<std::int32_t>(std::clamp(rounded, lowest, highest)) + scale.zero_point;
}

float decode(std::int32_t code, const QuantizerScale& scale) {
  return scale.step * static_cast<float>(code - scale.zero_point);
}

float quantize_by_codes(float value, const QuantizerScale& scale, const IntegerFormat& format) {
  return std::isnan(value) ? value : decode(encode(value, scale, format), scale);
}

float usable_step(float step) {
  if (!(step > 0)) return 1;
  return std::clamp(step, std::numeric_limits<float>::min(), std::numeric_limits<float>::max());
}

}  // namespace kasimir
