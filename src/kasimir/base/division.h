// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace kasimir {

/// Rounded down, and up, for any signs; `b` is not 0.
constexpr std::int64_t floor_div(std::int64_t a, std::int64_t b) {
  return a / b - (a % b != 0 && (a < 0) != (b < 0) ? 1 : 0);
}
constexpr std::int64_t ceil_div(std::int64_t a, std::int64_t b) {
  return a / b + (a % b != 0 && (a < 0) == (b < 0) ? 1 : 0);
}

}  // namespace kasimir
