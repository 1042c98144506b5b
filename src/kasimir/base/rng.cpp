// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/rng.h"

#include "kasimir/base/error.h"

#include <cmath>
#include <numbers>

namespace kasimir {

double Rng::normal() {
  const double u = 1.0 - unit();  // in (0, 1]: the logarithm is finite
  return std::sqrt(-2.0 * std::log(u)) * std::cos(2.0 * std::numbers::pi * unit());
}

void Rng::fail_empty() { KASIMIR_CHECK(false, "a random number was asked for from an empty range"); }

}  // namespace kasimir
