// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/format.h"

#include "kasimir/base/error.h"

namespace kasimir {

std::int32_t IntegerFormat::highest() const { return (std::int32_t{1} << (is_signed ? bits - 1 : bits)) - 1; }

std::int32_t IntegerFormat::lowest() const {
  if (!is_signed) return 0;
  return symmetric ? -highest() : -highest() - 1;
}

std::string IntegerFormat::str() const {
  return fmt::format("{}int{}", is_signed ? (symmetric ? "s" : "") : "u", bits);
}

void require_legal(const IntegerFormat& format, const std::string& where) {
  if ((format.bits >= 2 && format.bits <= 8) || format.bits == 16) return;
  throw input_error("{}: {} bits, needed are 2 to 8 or 16", where, format.bits);
}

}  // namespace kasimir
