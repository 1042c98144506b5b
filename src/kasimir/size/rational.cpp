// SPDX-License-Identifier: Apache-2.0
#include "kasimir/size/size.h"

#include <limits>
#include <numeric>

namespace kasimir {
namespace {

// Any sum or product of two products of 64-bit numbers that occurs below fits in 127 bits: exact.
__extension__ using Wide = __int128;
__extension__ using UnsignedWide = unsigned __int128;

UnsignedWide magnitude(Wide value) {
  return value < 0 ? -static_cast<UnsignedWide>(value) : static_cast<UnsignedWide>(value);
}

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

UnsignedWide common_divisor(UnsignedWide a, UnsignedWide b) {
  while (b != 0) {
    const UnsignedWide rest = a % b;
    a = b;
    b = rest;
  }
  return a;
}

bool fits(Wide value) {
  return value >= std::numeric_limits<std::int64_t>::min() && value <= std::numeric_limits<std::int64_t>::max();
}

std::string operand(Rational value) { return value.whole() ? value.str() : "(" + value.str() + ")"; }

Error overflow(Rational a, char sign, Rational b) {
  return input_error("a size overflows 64 bits: {} {} {}", operand(a), sign, operand(b));
}

}  // namespace

std::optional<Rational> Rational::from_parts(bool negative, std::uint64_t num, std::uint64_t den) {
  constexpr auto limit = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  if (den > limit || num > limit + (negative ? 1 : 0)) return std::nullopt;
  Rational result;
  result.num_ = static_cast<std::int64_t>(negative ? -num : num);
  result.den_ = static_cast<std::int64_t>(den);
  return result;
}

Rational::Rational(std::int64_t num, std::int64_t den) {
  if (den == 0) throw input_error("a size divided by zero: {} / 0", num);
  const std::uint64_t common = std::gcd(magnitude(num), magnitude(den));
  const auto reduced = from_parts((num < 0) != (den < 0), magnitude(num) / common, magnitude(den) / common);
  if (!reduced) throw input_error("a size overflows 64 bits: {} / {}", num, den);
  *this = *reduced;
}

Rational operator*(Rational a, Rational b) {
  Rational result;
  if (a.den_ == 1 && b.den_ == 1) {
    if (__builtin_mul_overflow(a.num_, b.num_, &result.num_)) throw overflow(a, '*', b);
    return result;
  }
  // Reduced crosswise first, the factors share nothing more: a product that overflows then has no smaller form.
  const auto ab = static_cast<std::int64_t>(std::gcd(magnitude(a.num_), magnitude(b.den_)));
  const auto ba = static_cast<std::int64_t>(std::gcd(magnitude(b.num_), magnitude(a.den_)));
  if (__builtin_mul_overflow(a.num_ / ab, b.num_ / ba, &result.num_) ||
      __builtin_mul_overflow(a.den_ / ba, b.den_ / ab, &result.den_)) {
    throw overflow(a, '*', b);
  }
  return result;
}

Rational operator/(Rational a, Rational b) {
  if (b.num_ == 0) throw input_error("a size divided by zero: {} / 0", operand(a));
  const std::uint64_t nums = std::gcd(magnitude(a.num_), magnitude(b.num_));
  const std::uint64_t dens = std::gcd(magnitude(a.den_), magnitude(b.den_));
  std::uint64_t num = 0;
  std::uint64_t den = 0;
  const bool narrow = !__builtin_mul_overflow(magnitude(a.num_) / nums, magnitude(b.den_) / dens, &num) &&
                      !__builtin_mul_overflow(magnitude(b.num_) / nums, magnitude(a.den_) / dens, &den);
  const auto quotient = narrow ? Rational::from_parts((a.num_ < 0) != (b.num_ < 0), num, den) : std::nullopt;
  if (!quotient) throw overflow(a, '/', b);
  return *quotient;
}

namespace {

Rational sum(Rational a, Rational b, int sign) {
  const Wide left = static_cast<Wide>(a.num()) * b.den();
  const Wide right = static_cast<Wide>(b.num()) * a.den();
  const Wide num = sign < 0 ? left - right : left + right;
  const Wide den = static_cast<Wide>(a.den()) * b.den();
  const auto common = static_cast<Wide>(common_divisor(magnitude(num), static_cast<UnsignedWide>(den)));
  if (!fits(num / common) || !fits(den / common)) throw overflow(a, sign < 0 ? '-' : '+', b);
  return {static_cast<std::int64_t>(num / common), static_cast<std::int64_t>(den / common)};
}

}  // namespace

Rational operator+(Rational a, Rational b) { return sum(a, b, 1); }
Rational operator-(Rational a, Rational b) { return sum(a, b, -1); }

std::strong_ordering Rational::operator<=>(const Rational& other) const {
  const Wide left = static_cast<Wide>(num_) * other.den_;
  const Wide right = static_cast<Wide>(other.num_) * den_;
  if (left == right) return std::strong_ordering::equal;
  return left < right ? std::strong_ordering::less : std::strong_ordering::greater;
}

std::string Rational::str() const { return whole() ? fmt::format("{}", num_) : fmt::format("{}/{}", num_, den_); }

}  // namespace kasimir
