// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"

#include <array>
#include <compare>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// The named unknowns that a size may contain. A closed set, so that sizes are flat values that print and parse
/// without a context.
///   batch          N
///   site symbols   Ci Co (channels in, out), H W (height, width of the *output*), s (stride)
///   choice symbols g r k (one value per kernel)
///   free symbols   x0 .. x5 (one value per site, found by the budget solver)
enum class Symbol : std::uint8_t { N, Ci, Co, H, W, s, g, r, k, x0, x1, x2, x3, x4, x5 };
inline constexpr int symbol_count = 15;
inline constexpr int free_symbol_count = 6;

std::string_view symbol_name(Symbol symbol);
std::optional<Symbol> symbol_from_name(std::string_view name);
constexpr Symbol free_symbol(int index) { return static_cast<Symbol>(static_cast<int>(Symbol::x0) + index); }
constexpr bool is_free(Symbol symbol) { return symbol >= Symbol::x0; }
inline constexpr std::array choice_symbols{Symbol::g, Symbol::r, Symbol::k};
constexpr bool is_choice(Symbol symbol) { return symbol >= Symbol::g && symbol <= Symbol::k; }

/// Numbers for symbols; 0 means not bound. `values[Symbol]` is a whole number >= 1.
class Binding {
 public:
  [[nodiscard]] bool has(Symbol symbol) const { return at(symbol) != 0; }
  [[nodiscard]] std::int64_t operator[](Symbol symbol) const { return at(symbol); }
  /// @throws Error (input) on a value below 1.
  Binding& set(Symbol symbol, std::int64_t value);
  bool operator==(const Binding&) const = default;
  /// "Ci=64 Co=64 H=32 W=32 s=1", bound symbols only.
  [[nodiscard]] std::string str() const;

 private:
  [[nodiscard]] std::int64_t at(Symbol symbol) const { return values_[static_cast<std::size_t>(symbol)]; }
  std::array<std::int64_t, symbol_count> values_{};
};

/// An exact fraction in lowest terms with a positive denominator. A result whose numerator or denominator does not fit
/// in 64 bits and a division by zero are an Error (fault input).
class Rational {
 public:
  constexpr Rational(std::int64_t value = 0) : num_(value) {}  // NOLINT(google-explicit-constructor)
  Rational(std::int64_t num, std::int64_t den);
  [[nodiscard]] std::int64_t num() const { return num_; }
  [[nodiscard]] std::int64_t den() const { return den_; }
  [[nodiscard]] bool whole() const { return den_ == 1; }
  [[nodiscard]] double value() const { return static_cast<double>(num_) / static_cast<double>(den_); }
  friend Rational operator*(Rational a, Rational b);
  friend Rational operator/(Rational a, Rational b);
  friend Rational operator+(Rational a, Rational b);
  friend Rational operator-(Rational a, Rational b);
  bool operator==(const Rational&) const = default;
  [[nodiscard]] std::strong_ordering operator<=>(const Rational& other) const;
  [[nodiscard]] std::string str() const;  ///< "3", "-1/2"

 private:
  /// The fraction from parts without a common divisor; nothing if it does not fit.
  static std::optional<Rational> from_parts(bool negative, std::uint64_t num, std::uint64_t den);

  std::int64_t num_ = 0;
  std::int64_t den_ = 1;
};

/// A size: a rational coefficient times integer powers of symbols, `Ci*Co/(4*g)`. The extent of an axis, a coefficient
/// of an iterator, a cost. A flat value without heap memory. Negative coefficients occur in offsets only.
class Size {
 public:
  constexpr Size(std::int64_t value = 1) : coefficient_(value) {}          // NOLINT(google-explicit-constructor)
  Size(Rational coefficient) : coefficient_(coefficient) { normalise(); }  // NOLINT(google-explicit-constructor)
  Size(Symbol symbol, int power = 1);                                      // NOLINT(google-explicit-constructor)

  /// Reads what str() prints: factors joined by `*` and `/`, `^` for powers, parentheses after `/`.
  /// @throws Error (input) with the position of what was not understood.
  static Size parse(std::string_view text);
  /// The only text of a size: coefficient, symbols in the order of Symbol, then what is below the fraction line:
  /// "Co/(4*g)", "9*Ci*Co/g", "-H*s", "1/2", "Ci^2". parse() reads it back to the same value.
  [[nodiscard]] std::string str() const;

  [[nodiscard]] Rational coefficient() const { return coefficient_; }
  [[nodiscard]] int power(Symbol symbol) const { return powers_[static_cast<std::size_t>(symbol)]; }
  [[nodiscard]] bool is_number() const;  ///< no symbol
  [[nodiscard]] bool is_one() const { return *this == Size(1); }
  [[nodiscard]] bool has(Symbol symbol) const { return power(symbol) != 0; }
  [[nodiscard]] bool has_free() const;

  /// Exact; overflow of a coefficient or a power (beyond +-100) is an Error, never a wrap.
  friend Size operator*(const Size& a, const Size& b);
  friend Size operator/(const Size& a, const Size& b);
  Size& operator*=(const Size& b) { return *this = *this * b; }
  Size& operator/=(const Size& b) { return *this = *this / b; }
  bool operator==(const Size&) const = default;
  /// A total order without meaning, for sorting and maps: by powers, then by coefficient.
  [[nodiscard]] std::strong_ordering operator<=>(const Size& other) const;
  /// The same order without the coefficient: equal for sizes that a sum merges into one term.
  [[nodiscard]] std::strong_ordering compare_symbols(const Size& other) const;
  [[nodiscard]] std::uint64_t hash() const;  ///< equal sizes have equal hashes
  [[nodiscard]] Size pow(int exponent) const;
  [[nodiscard]] Size negated() const { return *this * Size(-1); }

  /// Exponent-wise minimum and maximum, with the gcd and lcm of the coefficients as fractions
  /// (gcd(a/b, c/d) = gcd(a*d, c*b) / (b*d)), never negative. gcd(a,b) * lcm(a,b) = a*b for positive sizes;
  /// gcd(0, a) is a without its sign, lcm(0, a) is 0.
  friend Size gcd(const Size& a, const Size& b);
  friend Size lcm(const Size& a, const Size& b);

  /// True if `this / divisor` has no negative power and a whole coefficient: whole for *every* binding. Only a fast
  /// yes: `Ci/g` is not divisible so, and yet whole at each site where g divides Ci.
  [[nodiscard]] bool divisible_by(const Size& divisor) const;

  /// Puts `value` in place of `symbol`. @throws Error (input) if a zero comes below the fraction line.
  [[nodiscard]] Size substitute(Symbol symbol, const Size& value) const;

  /// The exact value at a binding. A symbol that is not bound is a failed check.
  /// @throws Error (input) if the numerator or the denominator of the result, in lowest terms, overflows 64 bits.
  [[nodiscard]] Rational at(const Binding& binding) const;
  /// The value if it is whole and >= 1; else a Rejection "size is whole" / "size is at least 1" with both sides,
  /// for instance "Ci/3 = 64/3 at Ci=64", or "size fits in 64 bits" with what was to be multiplied.
  [[nodiscard]] Outcome<std::int64_t> extent_at(const Binding& binding) const;
  [[nodiscard]] double value_at(const Binding& binding) const;  ///< in double, for costs
  /// Whether every symbol has a value.
  [[nodiscard]] bool bound_by(const Binding& binding) const;
  /// Whether extent_at() would have a value, without saying why not. @pre bound_by(binding)
  [[nodiscard]] bool whole_at(const Binding& binding) const;

 private:
  void normalise();
  /// Visits the numbers of the symbols that occur, ascending, until `visit` returns false; whether it never did.
  template <typename Visit>
  bool for_each_symbol(Visit visit) const;
  [[nodiscard]] std::int64_t bound_value(const Binding& binding, Symbol symbol) const;
  /// Numerator and denominator at a binding, not in lowest terms; nothing if one of them overflows on the way.
  struct Fraction {
    std::int64_t num;
    std::int64_t den;
  };
  [[nodiscard]] std::optional<Fraction> quick_at(const Binding& binding) const;
  /// The same in lowest terms; nothing if it does not fit in 64 bits. Slower.
  [[nodiscard]] std::optional<Rational> exact_at(const Binding& binding) const;
  /// " at Ci=64", the symbols of this size only.
  [[nodiscard]] std::string where(const Binding& binding) const;

  /// One slot more than there are symbols, always 0: a product is then one vector instruction.
  static constexpr std::size_t slots = 16;
  Rational coefficient_;
  std::array<std::int8_t, slots> powers_{};
};
static_assert(sizeof(Size) == 32);

/// A sum of sizes with distinct symbol parts, sorted (high powers of early symbols first); zero is the empty sum.
/// Offsets of coordinates, costs of kernels.
class SizeSum {
 public:
  SizeSum() = default;
  SizeSum(const Size& term) { *this += term; }           // NOLINT(google-explicit-constructor)
  SizeSum(std::int64_t value) : SizeSum(Size(value)) {}  // NOLINT(google-explicit-constructor)

  /// Reads what str() prints: sizes joined by ` + ` and ` - `. @throws Error (input).
  static SizeSum parse(std::string_view text);
  [[nodiscard]] std::string str() const;  ///< "Ci*k/2 - Ci/2 + 1", "0"
  [[nodiscard]] const std::vector<Size>& terms() const { return terms_; }
  [[nodiscard]] bool is_zero() const { return terms_.empty(); }

  SizeSum& operator+=(const Size& term);
  SizeSum& operator+=(const SizeSum& other);
  friend SizeSum operator+(SizeSum a, const SizeSum& b) { return a += b; }
  friend SizeSum operator-(SizeSum a, const SizeSum& b) { return a += b * Size(-1); }
  friend SizeSum operator*(const SizeSum& a, const Size& b);
  bool operator==(const SizeSum&) const = default;

  [[nodiscard]] SizeSum substitute(Symbol symbol, const Size& value) const;
  [[nodiscard]] Rational at(const Binding& binding) const;
  [[nodiscard]] double value_at(const Binding& binding) const;

 private:
  std::vector<Size> terms_;
};

/// The divisors of n >= 1 in ascending order.
std::vector<std::int64_t> divisors(std::int64_t n);

}  // namespace kasimir
