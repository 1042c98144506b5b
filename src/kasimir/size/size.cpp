// SPDX-License-Identifier: Apache-2.0
#include "kasimir/size/size.h"

#include "kasimir/base/rng.h"

#include <algorithm>
#include <bit>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <numeric>

namespace kasimir {
namespace {

constexpr int power_limit = 100;

std::uint64_t magnitude(std::int64_t value) {
  return value < 0 ? -static_cast<std::uint64_t>(value) : static_cast<std::uint64_t>(value);
}

std::int64_t signed_or_throw(std::uint64_t value, const char* function, const Size& a, const Size& b) {
  if (value > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max())) {
    throw input_error("a size overflows 64 bits: {}({}, {})", function, a.str(), b.str());
  }
  return static_cast<std::int64_t>(value);
}

Error power_error(const Size& a, const char* sign, const Size& b) {
  return input_error("a size has a power beyond {}: {} {} {}", power_limit, a.str(), sign, b.str());
}

/// Adds (sign 1) or subtracts (sign -1) all powers; false if one is beyond the limit. The sign bit of `room` remembers
/// that, so that the loop has no branch and becomes a few vector instructions.
template <int sign, std::size_t slots>
bool combine(std::array<std::int8_t, slots>& to, const std::array<std::int8_t, slots>& from) {
  std::int16_t room = 0;
  for (std::size_t i = 0; i < slots; ++i) {
    const auto power = static_cast<std::int16_t>(to[i] + sign * from[i]);
    room = static_cast<std::int16_t>(room | (power_limit - power) | (power_limit + power));
    to[i] = static_cast<std::int8_t>(power);
  }
  return room >= 0;
}

Rational rational_power(Rational base, std::uint64_t exponent) {
  Rational result = 1;
  while (exponent != 0) {
    if ((exponent & 1U) != 0) result = result * base;
    exponent >>= 1U;
    // Not after the last bit: the square is not needed and could overflow.
    if (exponent != 0) base = base * base;
  }
  return result;
}

std::string factor_text(Symbol symbol, int power) {
  return power == 1 ? std::string(symbol_name(symbol)) : fmt::format("{}^{}", symbol_name(symbol), power);
}

/// Multiplies `product` by base^power; false on overflow.
bool multiply(std::int64_t& product, std::int64_t base, int power) {
  for (int i = 0; i < power; ++i) {
    if (__builtin_mul_overflow(product, base, &product)) return false;
  }
  return true;
}

}  // namespace

template <typename Visit>
bool Size::for_each_symbol(Visit visit) const {
  constexpr int word_size = sizeof(std::uint64_t);
  std::array<std::uint64_t, slots / word_size> words{};
  std::memcpy(words.data(), powers_.data(), slots);
  for (int first = 0; std::uint64_t word : words) {
    if constexpr (std::endian::native == std::endian::big) word = __builtin_bswap64(word);
    while (word != 0) {
      const int at = std::countr_zero(word) / CHAR_BIT;
      word &= ~(std::uint64_t{0xFF} << static_cast<unsigned>(at * CHAR_BIT));
      if (!visit(first + at)) return false;
    }
    first += word_size;
  }
  return true;
}

Size::Size(Symbol symbol, int power) : coefficient_(1) {
  if (power > power_limit || power < -power_limit) {
    throw input_error("a size has a power beyond {}: {}^{}", power_limit, symbol_name(symbol), power);
  }
  powers_[static_cast<std::size_t>(symbol)] = static_cast<std::int8_t>(power);
}

void Size::normalise() {
  if (coefficient_.num() == 0) powers_.fill(0);
}

std::string Size::str() const {
  std::string above;
  std::string below;
  int factors_below = 0;
  const auto add_above = [&](const std::string& factor) { above += (above.empty() ? "" : "*") + factor; };
  const auto add_below = [&](const std::string& factor) {
    below += (below.empty() ? "" : "*") + factor;
    ++factors_below;
  };
  const std::uint64_t num = magnitude(coefficient_.num());
  const bool any_above = std::any_of(powers_.begin(), powers_.end(), [](int power) { return power > 0; });
  if (num != 1 || !any_above) add_above(fmt::format("{}", num));
  if (!coefficient_.whole()) add_below(fmt::format("{}", coefficient_.den()));
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    if (power(symbol) > 0) add_above(factor_text(symbol, power(symbol)));
    if (power(symbol) < 0) add_below(factor_text(symbol, -power(symbol)));
  }
  if (factors_below > 1) below = "(" + below + ")";
  return (coefficient_.num() < 0 ? "-" : "") + above + (below.empty() ? "" : "/" + below);
}

bool Size::is_number() const {
  return std::all_of(powers_.begin(), powers_.end(), [](int power) { return power == 0; });
}

bool Size::has_free() const {
  for (int i = 0; i < free_symbol_count; ++i) {
    if (has(free_symbol(i))) return true;
  }
  return false;
}

Size operator*(const Size& a, const Size& b) {
  Size product = a;
  product.coefficient_ = a.coefficient_ * b.coefficient_;
  if (!combine<1>(product.powers_, b.powers_)) throw power_error(a, "*", b);
  product.normalise();
  return product;
}

Size operator/(const Size& a, const Size& b) {
  if (b.coefficient_.num() == 0) throw input_error("a size divided by zero: {} / 0", a.str());
  Size quotient = a;
  quotient.coefficient_ = a.coefficient_ / b.coefficient_;
  if (!combine<-1>(quotient.powers_, b.powers_)) throw power_error(a, "/", b);
  quotient.normalise();
  return quotient;
}

std::strong_ordering Size::compare_symbols(const Size& other) const { return powers_ <=> other.powers_; }

std::strong_ordering Size::operator<=>(const Size& other) const {
  const auto by_powers = compare_symbols(other);
  return by_powers != 0 ? by_powers : coefficient_ <=> other.coefficient_;
}

std::uint64_t Size::hash() const {
  std::array<std::uint64_t, slots / sizeof(std::uint64_t)> words{};
  std::memcpy(words.data(), powers_.data(), slots);
  std::uint64_t hash = mix_bits(static_cast<std::uint64_t>(coefficient_.num()));
  hash = mix_bits(hash ^ static_cast<std::uint64_t>(coefficient_.den()));
  for (const std::uint64_t word : words) hash = mix_bits(hash ^ word);
  return hash;
}

Size Size::pow(int exponent) const {
  const auto times = static_cast<std::int64_t>(exponent);
  if (times < 0 && coefficient_.num() == 0) throw input_error("a size divided by zero: 0^{}", exponent);
  Size result;
  result.coefficient_ = rational_power(times < 0 ? 1 / coefficient_ : coefficient_, magnitude(times));
  for (std::size_t i = 0; i < slots; ++i) {
    const std::int64_t power = powers_[i] * times;
    if (power > power_limit || power < -power_limit) {
      const bool simple = str().find_first_of("*/^-") == std::string::npos;
      throw input_error("a size has a power beyond {}: {}^{}", power_limit, simple ? str() : "(" + str() + ")",
                        exponent);
    }
    result.powers_[i] = static_cast<std::int8_t>(power);
  }
  return result;
}

Size gcd(const Size& a, const Size& b) {
  const auto unsigned_of = [](const Size& size) { return size.coefficient_.num() < 0 ? size.negated() : size; };
  if (a.coefficient_.num() == 0) return unsigned_of(b);
  if (b.coefficient_.num() == 0) return unsigned_of(a);
  // Of fractions in lowest terms: gcd above the line, lcm below.
  std::int64_t den = 0;
  const std::int64_t common = std::gcd(a.coefficient_.den(), b.coefficient_.den());
  if (__builtin_mul_overflow(a.coefficient_.den() / common, b.coefficient_.den(), &den)) {
    throw input_error("a size overflows 64 bits: gcd({}, {})", a.str(), b.str());
  }
  const std::uint64_t num = std::gcd(magnitude(a.coefficient_.num()), magnitude(b.coefficient_.num()));
  Size result(Rational(signed_or_throw(num, "gcd", a, b), den));
  for (std::size_t i = 0; i < Size::slots; ++i) result.powers_[i] = std::min(a.powers_[i], b.powers_[i]);
  return result;
}

Size lcm(const Size& a, const Size& b) {
  if (a.coefficient_.num() == 0 || b.coefficient_.num() == 0) return 0;
  const std::uint64_t x = magnitude(a.coefficient_.num());
  const std::uint64_t y = magnitude(b.coefficient_.num());
  std::uint64_t num = 0;
  if (__builtin_mul_overflow(x / std::gcd(x, y), y, &num)) num = std::numeric_limits<std::uint64_t>::max();
  const std::int64_t den = std::gcd(a.coefficient_.den(), b.coefficient_.den());
  Size result(Rational(signed_or_throw(num, "lcm", a, b), den));
  for (std::size_t i = 0; i < Size::slots; ++i) result.powers_[i] = std::max(a.powers_[i], b.powers_[i]);
  return result;
}

bool Size::divisible_by(const Size& divisor) const {
  if (divisor.coefficient_.num() == 0) return false;
  if (coefficient_.num() == 0) return true;
  // With fractions in lowest terms the quotient is whole exactly if both divisions below are.
  if (magnitude(coefficient_.num()) % magnitude(divisor.coefficient_.num()) != 0) return false;
  if (divisor.coefficient_.den() % coefficient_.den() != 0) return false;
  for (std::size_t i = 0; i < slots; ++i) {
    if (powers_[i] < divisor.powers_[i]) return false;
  }
  return true;
}

Size Size::substitute(Symbol symbol, const Size& value) const {
  if (!has(symbol)) return *this;
  Size rest = *this;
  rest.powers_[static_cast<std::size_t>(symbol)] = 0;
  return rest * value.pow(power(symbol));
}

std::int64_t Size::bound_value(const Binding& binding, Symbol symbol) const {
  KASIMIR_CHECK(binding.has(symbol), "{} of {} is not bound, only `{}`", symbol_name(symbol), str(), binding.str());
  return binding[symbol];
}

std::optional<Size::Fraction> Size::quick_at(const Binding& binding) const {
  Fraction result{coefficient_.num(), coefficient_.den()};
  const bool fits = for_each_symbol([&](int i) {
    const auto symbol = static_cast<Symbol>(i);
    const int p = power(symbol);
    return multiply(p > 0 ? result.num : result.den, bound_value(binding, symbol), std::abs(p));
  });
  if (!fits) return std::nullopt;
  return result;
}

std::optional<Rational> Size::exact_at(const Binding& binding) const {
  std::vector<std::int64_t> above;
  std::int64_t num = coefficient_.num();
  std::vector<std::int64_t> below = {coefficient_.den()};
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    if (!has(symbol)) continue;
    auto& side = power(symbol) > 0 ? above : below;
    side.insert(side.end(), static_cast<std::size_t>(std::abs(power(symbol))), bound_value(binding, symbol));
  }
  // Cancelled pair by pair, nothing is shared any more: what overflows now has no smaller form.
  std::int64_t den = 1;
  for (std::int64_t divisor : below) {
    for (std::int64_t& factor : above) {
      const std::int64_t common = std::gcd(factor, divisor);
      factor /= common;
      divisor /= common;
    }
    const auto common = static_cast<std::int64_t>(std::gcd(magnitude(num), magnitude(divisor)));
    num /= common;
    if (!multiply(den, divisor / common, 1)) return std::nullopt;
  }
  for (const std::int64_t factor : above) {
    if (!multiply(num, factor, 1)) return std::nullopt;
  }
  return Rational(num, den);
}

Rational Size::at(const Binding& binding) const {
  if (const auto quick = quick_at(binding)) return {quick->num, quick->den};
  if (const auto exact = exact_at(binding)) return *exact;
  throw input_error("a size overflows 64 bits: {}{}", str(), where(binding));
}

Outcome<std::int64_t> Size::extent_at(const Binding& binding) const {
  std::int64_t value = 0;
  if (const auto quick = quick_at(binding); quick && quick->num % quick->den == 0) {
    value = quick->num / quick->den;
  } else {
    const auto exact = quick ? Rational(quick->num, quick->den) : exact_at(binding);
    if (!exact) return Rejection{"size fits in 64 bits", str() + where(binding)};
    if (!exact->whole()) {
      const std::string text = is_number() ? str() : str() + " = " + exact->str();
      return Rejection{"size is whole", text + where(binding)};
    }
    value = exact->num();
  }
  if (value >= 1) return value;
  const std::string text = is_number() ? str() : fmt::format("{} = {}", str(), value);
  return Rejection{"size is at least 1", text + where(binding)};
}

bool Size::bound_by(const Binding& binding) const {
  return for_each_symbol([&](int i) { return binding.has(static_cast<Symbol>(i)); });
}

bool Size::whole_at(const Binding& binding) const {
  if (const auto quick = quick_at(binding))
    return quick->num >= 1 && (quick->den == 1 || quick->num % quick->den == 0);
  return extent_at(binding).ok();
}

double Size::value_at(const Binding& binding) const {
  double value = coefficient_.value();
  for_each_symbol([&](int i) {
    const auto symbol = static_cast<Symbol>(i);
    const int p = power(symbol);
    const auto base = static_cast<double>(bound_value(binding, symbol));
    for (int k = 0; k < std::abs(p); ++k) value = p > 0 ? value * base : value / base;
    return true;
  });
  return value;
}

std::string Size::where(const Binding& binding) const {
  Binding used;
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    if (has(symbol)) used.set(symbol, binding[symbol]);
  }
  const std::string text = used.str();
  return text.empty() ? "" : " at " + text;
}

}  // namespace kasimir
