// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/number_format.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <span>

namespace kasimir {
namespace {

float nearest(const NumberFormat& format, float value) {
  if (std::isnan(value)) return value;
  const auto lowest = static_cast<float>(format.integer->lowest());
  const auto highest = static_cast<float>(format.integer->highest());
  return std::clamp(std::nearbyint(value), lowest, highest);
}

constexpr NumberFormat whole(std::string_view name, int bits, bool is_signed, bool symmetric) {
  return {name, "two's complement; symmetric without the lowest code: Wu et al., arXiv 2004.09602, section 3.1", bits,
          IntegerFormat{bits, is_signed, symmetric}, nearest};
}
constexpr NumberFormat plain(std::string_view name, int bits) { return whole(name, bits, true, false); }
constexpr NumberFormat from_zero(std::string_view name, int bits) { return whole(name, bits, false, false); }
constexpr NumberFormat even(std::string_view name, int bits) { return whole(name, bits, true, true); }

constexpr std::array formats{
    plain("int2", 2),      from_zero("uint2", 2), even("sint2", 2),        plain("int3", 3),      from_zero("uint3", 3),
    even("sint3", 3),      plain("int4", 4),      from_zero("uint4", 4),   even("sint4", 4),      plain("int5", 5),
    from_zero("uint5", 5), even("sint5", 5),      plain("int6", 6),        from_zero("uint6", 6), even("sint6", 6),
    plain("int7", 7),      from_zero("uint7", 7), even("sint7", 7),        plain("int8", 8),      from_zero("uint8", 8),
    even("sint8", 8),      plain("int16", 16),    from_zero("uint16", 16), even("sint16", 16)};

}  // namespace

extern const std::span<const NumberFormat> integer_formats;
constinit const std::span<const NumberFormat> integer_formats = formats;

}  // namespace kasimir
