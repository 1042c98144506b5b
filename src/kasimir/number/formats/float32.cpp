// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/number_format.h"

#include <array>
#include <span>

namespace kasimir {
namespace {

float nearest(const NumberFormat& /*format*/, float value) { return value; }

constexpr std::array formats{NumberFormat{"float32", "IEEE 754 binary32", 32, std::nullopt, nearest}};

}  // namespace

extern const std::span<const NumberFormat> float32_formats;
constinit const std::span<const NumberFormat> float32_formats = formats;

}  // namespace kasimir
