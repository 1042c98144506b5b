// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/number_format.h"

#include <array>
#include <bit>
#include <cmath>
#include <span>

namespace kasimir {
namespace {

/// The upper half of a float32: adding just below half of the last kept place, and one more where that place is odd,
/// carries exactly when the nearest (of a tie, the even) number is the upper one.
float nearest(const NumberFormat& /*format*/, float value) {
  if (std::isnan(value)) return value;
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t rounded = bits + 0x7FFFU + ((bits >> 16) & 1U);
  return std::bit_cast<float>(rounded & 0xFFFF0000U);
}

constexpr std::array formats{NumberFormat{
    "bf16", "float32 without its lower 16 bits: Kalamkar et al., arXiv 1905.12322", 16, std::nullopt, nearest}};

}  // namespace

extern const std::span<const NumberFormat> bf16_formats;
constinit const std::span<const NumberFormat> bf16_formats = formats;

}  // namespace kasimir
