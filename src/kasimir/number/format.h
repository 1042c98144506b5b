// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace kasimir {

/// Whole numbers of a bit width, the codes of quantised values: value = step * (code - zero point).
struct IntegerFormat {
  int bits = 8;            ///< 2 .. 8, or 16
  bool is_signed = true;   ///< two's complement; else from 0
  bool symmetric = false;  ///< signed only: without the lowest code, so that -code is one too: 2^bits - 1 codes

  [[nodiscard]] std::int32_t lowest() const;
  [[nodiscard]] std::int32_t highest() const;
  /// "int8", "uint4", "sint4" (symmetric).
  [[nodiscard]] std::string str() const;
  bool operator==(const IntegerFormat&) const = default;
};

/// @throws Error (input) for a bit width that is none of 2 .. 8 and 16. `where` says whose it is.
void require_legal(const IntegerFormat& format, const std::string& where);

}  // namespace kasimir
