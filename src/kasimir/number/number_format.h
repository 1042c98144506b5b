// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/number/format.h"

#include <optional>
#include <string_view>

namespace kasimir {

/// How one number is stored: a record of the catalog.
struct NumberFormat {
  std::string_view name;  ///< "int8", "uint4", "sint4" (symmetric), "bf16"
  std::string_view source;
  int bits = 32;
  std::optional<IntegerFormat> integer;  ///< nothing for floating point
  /// The nearest number of the format, ties to even. Beyond the ends an integer stays at the end and floating point
  /// becomes infinite; what is not a number stays so.
  float (*nearest)(const NumberFormat& format, float value) = nullptr;
};

}  // namespace kasimir
