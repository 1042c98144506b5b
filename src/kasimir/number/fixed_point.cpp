// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/fixed_point.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>

namespace kasimir {

double Dyadic::value() const { return std::ldexp(static_cast<double>(mantissa), -shift); }

Dyadic to_dyadic(double value) {
  KASIMIR_CHECK(std::isfinite(value), "a dyadic number for {}", value);
  if (value == 0) return {};
  const double most = std::ldexp(1.0, 59);
  const double kept = std::clamp(value, -most, most);
  int exponent = 0;
  std::frexp(kept, &exponent);
  const int shift = std::min(dyadic_bits - exponent, dyadic_most_shift);
  return {static_cast<std::int32_t>(std::nearbyint(std::ldexp(kept, shift))), shift};
}

std::int64_t root_rounded(std::int64_t value) {
  KASIMIR_CHECK(value >= 0, "the root of {}", value);
  // Bit by bit: the largest root with root^2 <= value.
  std::int64_t root = 0;
  for (std::int64_t bit = std::int64_t{1} << 31; bit > 0; bit >>= 1) {
    const WideInteger tried = root + bit;
    if (tried * tried <= value) root += bit;
  }
  // (root + 1/2)^2 = root^2 + root + 1/4 is no integer: there are no ties.
  return value - root * root > root ? root + 1 : root;
}

}  // namespace kasimir
