// SPDX-License-Identifier: Apache-2.0
#include "law/size/random_size.h"

#include <gtest/gtest.h>
#include <rapidcheck/gtest.h>

#include <array>
#include <map>
#include <optional>

namespace kasimir::laws {
namespace {

__extension__ using Wide = __int128;

/// What `action` gives, or nothing if it throws an Error of kind input.
template <typename Action>
auto or_overflow(Action action) -> std::optional<decltype(action())> {
  try {
    return action();
  } catch (const Error& error) {
    RC_ASSERT(error.fault() == Fault::input);
    return std::nullopt;
  }
}

RC_GTEST_PROP(SizeLaw, ProductsCommuteAndAssociate, ()) {
  const Size a = *any_size(), b = *any_size(), c = *any_size();
  RC_ASSERT(a * b == b * a);
  RC_ASSERT((a * b) * c == a * (b * c));
  RC_ASSERT(a * Size(1) == a);
  RC_ASSERT(a * Size(0) == Size(0));
}

RC_GTEST_PROP(SizeLaw, AQuotientUndoesAProduct, ()) {
  const Size a = *any_size(), b = *nonzero_size();
  RC_ASSERT(a / b * b == a);
  RC_ASSERT(a * b / b == a);
  RC_ASSERT(b / b == Size(1));
  RC_ASSERT(a / b == a * b.pow(-1));
}

RC_GTEST_PROP(SizeLaw, PowersAddUp, ()) {
  const Size a = Size(*small_fractions(1, 8)) * Size(*any_symbol(), *rc::gen::inRange(-3, 4));
  const int m = *rc::gen::inRange(-4, 5), n = *rc::gen::inRange(-4, 5);
  RC_ASSERT(a.pow(m) * a.pow(n) == a.pow(m + n));
  RC_ASSERT(a.pow(m) / a.pow(n) == a.pow(m - n));
}

RC_GTEST_PROP(SizeLaw, GcdTimesLcmIsTheProduct, ()) {
  const Size a = *positive_size(), b = *positive_size();
  RC_ASSERT(gcd(a, b) * lcm(a, b) == a * b);
}

RC_GTEST_PROP(SizeLaw, GcdIsTheGreatestCommonDivisor, ()) {
  const Size a = *nonzero_size(), b = *nonzero_size(), common = *positive_size();
  RC_ASSERT(a.divisible_by(gcd(a, b)));
  RC_ASSERT(b.divisible_by(gcd(a, b)));
  RC_ASSERT(gcd(a * common, b * common) == gcd(a, b) * common);
  RC_ASSERT(gcd(a, b) == gcd(b, a));
  RC_ASSERT(gcd(a, a) == (a.coefficient() < 0 ? a.negated() : a));
}

RC_GTEST_PROP(SizeLaw, LcmIsTheLeastCommonMultiple, ()) {
  const Size a = *positive_size(), b = *positive_size();
  RC_ASSERT(lcm(a, b).divisible_by(a));
  RC_ASSERT(lcm(a, b).divisible_by(b));
  RC_ASSERT(lcm(a, b) == lcm(b, a));
  RC_ASSERT(gcd(a, lcm(a, b)) == a);
  RC_ASSERT(lcm(a, gcd(a, b)) == a);
}

RC_GTEST_PROP(SizeLaw, DivisibleMeansAWholeQuotientEverywhere, ()) {
  const Size a = *any_size(), b = *nonzero_size();
  const Binding binding = *full_binding(9);
  const Size multiple = a * Size(a.coefficient().den()) * b;
  Size numerator = multiple / b;
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    if (numerator.power(symbol) < 0) numerator *= Size(symbol, -numerator.power(symbol));
  }
  RC_ASSERT((numerator * b).divisible_by(b));
  const auto value = or_overflow([&] { return (numerator * b / b).at(binding); });
  if (value) RC_ASSERT(value->whole());
}

RC_GTEST_PROP(SizeLaw, NotDivisibleMeansAFractionSomewhere, ()) {
  const Size a = *nonzero_size(), b = *nonzero_size();
  RC_PRE(!a.divisible_by(b));
  // The coefficient shows at 1 everywhere, a negative power at a prime that no coefficient here contains (where a
  // denominator beyond 64 bits is a fraction all the more).
  const Size quotient = a / b;
  Binding ones;
  for (int i = 0; i < symbol_count; ++i) ones.set(static_cast<Symbol>(i), 1);
  bool fraction = !quotient.at(ones).whole();
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    if (quotient.power(symbol) >= 0) continue;
    const auto value = or_overflow([&] { return quotient.at(Binding(ones).set(symbol, 1009)); });
    fraction = fraction || !value || !value->whole();
  }
  RC_ASSERT(fraction);
}

RC_GTEST_PROP(SizeLaw, EvaluationCommutesWithProducts, ()) {
  const Size a = *any_size(), b = *nonzero_size();
  const Binding binding = *full_binding(6);
  const auto parts = or_overflow([&] { return a.at(binding) * b.at(binding); });
  const auto whole = or_overflow([&] { return (a * b).at(binding); });
  if (parts) RC_ASSERT(whole == parts);
  const auto ratio = or_overflow([&] { return a.at(binding) / b.at(binding); });
  if (ratio) RC_ASSERT((a / b).at(binding) == *ratio);
}

RC_GTEST_PROP(SizeLaw, SubstitutionCommutesWithEvaluation, ()) {
  const Size a = *any_size();
  const Symbol symbol = *any_symbol();
  const Binding binding = *full_binding(6);
  const Size value = Size(*rc::gen::inRange(1, 5)) * Size(*any_symbol(), *rc::gen::inRange(0, 3));
  const Binding inner = Binding(binding).set(symbol, *value.extent_at(binding));
  const auto inside = or_overflow([&] { return a.at(inner); });
  const auto outside = or_overflow([&] { return a.substitute(symbol, value).at(binding); });
  RC_ASSERT(inside == outside);
}

RC_GTEST_PROP(SizeLaw, TextGivesTheSameValueBack, ()) {
  const auto extreme = rc::gen::map(rc::gen::pair(extreme_number(), extreme_number()), [](const auto& parts) {
    const bool fits = parts.second != 0 && parts.first != std::numeric_limits<std::int64_t>::min() &&
                      parts.second != std::numeric_limits<std::int64_t>::min();
    return fits ? Rational(parts.first, parts.second) : Rational(parts.first);
  });
  const Size size = *rc::gen::oneOf(any_size(), sizes_with(extreme));
  RC_ASSERT(Size::parse(size.str()) == size);
  RC_ASSERT(Size::parse(size.str()).str() == size.str());
}

RC_GTEST_PROP(SizeLaw, AnyTextIsReadOrRefused, ()) {
  const auto piece = rc::gen::elementOf(std::vector<std::string>{"Ci", "g", "x0", "2", "17", "9223372036854775807", "*",
                                                                 "/", "^", "-", "(", ")", "+", " ", "ci", "."});
  std::string text;
  for (const std::string& part : *rc::gen::container<std::vector<std::string>>(piece)) text += part;
  const auto size = or_overflow([&] { return Size::parse(text); });
  if (size) RC_ASSERT(Size::parse(size->str()) == *size);
  const auto sum = or_overflow([&] { return SizeSum::parse(text); });
  if (sum) RC_ASSERT(SizeSum::parse(sum->str()) == *sum);
  if (size) RC_ASSERT(sum == SizeSum(*size));
}

RC_GTEST_PROP(SizeLaw, OrderIsTotal, ()) {
  const Size a = *any_size(), b = *any_size(), c = *any_size();
  RC_ASSERT((a == b) == ((a <=> b) == 0));
  RC_ASSERT((a < b) == (b > a));
  RC_ASSERT(!(a < b && b < c) || a < c);
  RC_ASSERT(a * Size(2) == a || a.compare_symbols(a * Size(2)) == 0);
}

RC_GTEST_PROP(SizeLaw, ExtentsAreTheWholePositiveValues, ()) {
  const Size size = *any_size();
  const Binding binding = *full_binding(12);
  const auto value = or_overflow([&] { return size.at(binding); });
  const auto extent = size.extent_at(binding);
  RC_ASSERT(extent.ok() == (value && value->whole() && *value >= 1));
  if (extent) {
    RC_ASSERT(Rational(*extent) == *value);
  } else {
    const std::string rule = !value ? "size fits in 64 bits" : !value->whole() ? "size is whole" : "size is at least 1";
    RC_ASSERT(extent.rejection().rule == rule);
  }
  if (value) RC_ASSERT(std::abs(size.value_at(binding) - value->value()) <= 1e-12 * std::abs(value->value()));
}

/// The value as powers of primes: overflows nowhere, an independent reference.
struct PrimePowers {
  std::map<std::int64_t, int> powers;
  void multiply(std::int64_t number, int times) {
    for (std::int64_t p = 2; number > 1; ++p) {
      for (; number % p == 0; number /= p) powers[p] += times;
    }
  }
  /// The product of the primes whose power has this sign; nothing if it is beyond 64 bits.
  [[nodiscard]] std::optional<std::int64_t> side(int sign) const {
    Wide product = 1;
    for (const auto& [prime, power] : powers) {
      for (int i = 0; i < sign * power; ++i) {
        product *= prime;
        if (product > std::numeric_limits<std::int64_t>::max()) return std::nullopt;
      }
    }
    return static_cast<std::int64_t>(product);
  }
};

RC_GTEST_PROP(SizeLaw, AValueIsExactOrAnError, ()) {
  const Size base = *positive_size();
  const Size size = base.pow(*rc::gen::inRange(1, 4));
  const Binding binding = *full_binding(64);
  PrimePowers reference;
  reference.multiply(size.coefficient().num(), 1);
  reference.multiply(size.coefficient().den(), -1);
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    reference.multiply(binding[symbol], size.power(symbol));
  }
  const auto num = reference.side(1);
  const auto den = reference.side(-1);
  const auto value = or_overflow([&] { return size.at(binding); });
  RC_ASSERT(value.has_value() == (num.has_value() && den.has_value()));
  if (value) RC_ASSERT(value->num() == *num && value->den() == *den);
}

Wide common_divisor(Wide a, Wide b) {
  if (a < 0) a = -a;
  if (b < 0) b = -b;
  while (b != 0) a = std::exchange(b, a % b);
  return a;
}

/// The fraction num/den if it fits in 64 bits in lowest terms.
std::optional<Rational> narrow(Wide num, Wide den) {
  const Wide common = common_divisor(num, den) * (den < 0 ? -1 : 1);
  num /= common;
  den /= common;
  constexpr Wide lowest = std::numeric_limits<std::int64_t>::min();
  constexpr Wide highest = std::numeric_limits<std::int64_t>::max();
  if (num < lowest || num > highest || den > highest) return std::nullopt;
  return Rational(static_cast<std::int64_t>(num), static_cast<std::int64_t>(den));
}

RC_GTEST_PROP(RationalLaw, OverflowIsAnErrorAndNeverAWrap, ()) {
  const std::int64_t a = *extreme_number(), b = *extreme_number(), c = *extreme_number(), d = *extreme_number();
  const auto x = b == 0 ? std::nullopt : or_overflow([&] { return Rational(a, b); });
  const auto y = d == 0 ? std::nullopt : or_overflow([&] { return Rational(c, d); });
  if (b != 0) RC_ASSERT(x == narrow(a, b));
  RC_PRE(x.has_value() && y.has_value());
  const Wide xn = x->num(), xd = x->den(), yn = y->num(), yd = y->den();
  RC_ASSERT(or_overflow([&] { return *x * *y; }) == narrow(xn * yn, xd * yd));
  RC_ASSERT(or_overflow([&] { return *x + *y; }) == narrow(xn * yd + yn * xd, xd * yd));
  RC_ASSERT(or_overflow([&] { return *x - *y; }) == narrow(xn * yd - yn * xd, xd * yd));
  if (yn != 0) RC_ASSERT(or_overflow([&] { return *x / *y; }) == narrow(xn * yd, xd * yn));
  RC_ASSERT((*x < *y) == (xn * yd < yn * xd));
}

RC_GTEST_PROP(SizeLaw, CoefficientsAndPowersOverflowIntoAnError, ()) {
  const std::int64_t a = *extreme_number(), b = *extreme_number();
  const int p = *rc::gen::inRange(-100, 101), q = *rc::gen::inRange(-100, 101);
  const Symbol symbol = *any_symbol();
  const auto product = or_overflow([&] { return Size(a) * Size(symbol, p) * (Size(b) * Size(symbol, q)); });
  const auto coefficient = narrow(static_cast<Wide>(a) * b, 1);
  const bool zero = a == 0 || b == 0;
  const bool fits = coefficient.has_value() && (zero || std::abs(p + q) <= 100);
  RC_ASSERT(product.has_value() == fits);
  if (fits) {
    RC_ASSERT(product->coefficient() == *coefficient);
    RC_ASSERT(product->power(symbol) == (zero ? 0 : p + q));
  }
}

}  // namespace
}  // namespace kasimir::laws
