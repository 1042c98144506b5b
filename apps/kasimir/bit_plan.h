// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/quantize.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kasimir {

/// Which places get how many bits, as options say it.
struct BitWishes {
  std::string all = "8";
  std::string edges = "8";          ///< of the first and the last place
  std::vector<std::string> places;  ///< PATTERN=BITS, the last that matches counts
};

/// Bits for all places but those that stay float.
/// @throws Error (input) for bits that are no bits, and a pattern that matches no place.
BitPlan bit_plan(const std::vector<WeightedPlace>& places, const BitWishes& wishes);

/// "8", or "w4a8" where the two differ.
std::string bits_text(const PlaceBits& bits);

/// What the weights of these places take, those that are not in `bits` as float32.
std::int64_t weight_bytes(const std::vector<WeightedPlace>& places, const BitPlan& bits);

}  // namespace kasimir
