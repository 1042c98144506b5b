// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

/// Arithmetic of integers that stand for fractions, rounding half to even.
namespace kasimir {

__extension__ using WideInteger = __int128;

/// mantissa * 2^-shift
struct Dyadic {
  std::int32_t mantissa = 0;  ///< at most 2^20 in size
  int shift = 0;              ///< -40 .. 62
  [[nodiscard]] double value() const;
  bool operator==(const Dyadic&) const = default;
};

inline constexpr int dyadic_bits = 20;        ///< of the mantissa
inline constexpr int dyadic_most_shift = 62;  ///< numbers below 2^-42 have fewer bits

/// The nearest dyadic number of 20 bits that is a multiple of 2^-62, ties to even. A finite `value`; beyond 2^59 in
/// size it stays there.
Dyadic to_dyadic(double value);

/// The integer nearest to value * 2^-shift, ties to even.
constexpr WideInteger shift_rounded(WideInteger value, int shift) {
  if (shift <= 0) return value * (WideInteger{1} << -shift);
  const WideInteger floor = value >> shift;
  const WideInteger rest = value - floor * (WideInteger{1} << shift);
  const WideInteger half = WideInteger{1} << (shift - 1);
  return floor + (rest > half || (rest == half && (floor & 1) != 0) ? 1 : 0);
}

/// The integer nearest to value / divisor, ties to even; divisor > 0.
constexpr WideInteger divide_rounded(WideInteger value, WideInteger divisor) {
  WideInteger quotient = value / divisor;
  WideInteger rest = value % divisor;
  if (rest < 0) {
    rest += divisor;
    --quotient;
  }
  const bool up = 2 * rest > divisor || (2 * rest == divisor && (quotient & 1) != 0);
  return quotient + (up ? 1 : 0);
}

/// The integer nearest to the root of value >= 0.
std::int64_t root_rounded(std::int64_t value);

constexpr std::int64_t clamp_wide(WideInteger value, std::int64_t lowest, std::int64_t highest) {
  return value < lowest ? lowest : value > highest ? highest : static_cast<std::int64_t>(value);
}

}  // namespace kasimir
