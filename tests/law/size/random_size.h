// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/size/size.h"

#include <rapidcheck.h>

#include <limits>
#include <ostream>
#include <tuple>
#include <utility>
#include <vector>

namespace kasimir {

// RapidCheck finds these by argument-dependent look-up and prints the smallest counterexample with them.
inline std::ostream& operator<<(std::ostream& out, const Rational& value) { return out << value.str(); }
inline std::ostream& operator<<(std::ostream& out, const Size& size) { return out << size.str(); }
inline std::ostream& operator<<(std::ostream& out, const SizeSum& sum) { return out << sum.str(); }
inline std::ostream& operator<<(std::ostream& out, const Binding& binding) { return out << binding.str(); }

}  // namespace kasimir

namespace kasimir::laws {

/// Any symbol.
inline rc::Gen<Symbol> any_symbol() {
  return rc::gen::map(rc::gen::inRange(0, symbol_count), [](int index) { return static_cast<Symbol>(index); });
}

/// Up to five symbols with powers -3..3 and a coefficient `coefficients`.
inline rc::Gen<Size> sizes_with(rc::Gen<Rational> coefficients) {
  const auto powers =
      rc::gen::container<std::vector<std::pair<Symbol, int>>>(rc::gen::pair(any_symbol(), rc::gen::inRange(-3, 4)));
  return rc::gen::map(rc::gen::pair(std::move(coefficients), powers), [](const auto& parts) {
    Size size = parts.first;
    for (std::size_t i = 0; i < parts.second.size() && i < 5; ++i) {
      size *= Size(parts.second[i].first, parts.second[i].second);
    }
    return size;
  });
}

/// Fractions with a numerator in lo..hi and a denominator in 1..60: products of a few never overflow.
inline rc::Gen<Rational> small_fractions(int lo, int hi) {
  return rc::gen::map(rc::gen::pair(rc::gen::inRange(lo, hi + 1), rc::gen::inRange(1, 61)),
                      [](const auto& parts) { return Rational(parts.first, parts.second); });
}

inline rc::Gen<Size> positive_size() { return sizes_with(small_fractions(1, 1000)); }
inline rc::Gen<Size> any_size() { return sizes_with(small_fractions(-1000, 1000)); }
inline rc::Gen<Size> nonzero_size() {
  return rc::gen::map(rc::gen::pair(positive_size(), rc::gen::arbitrary<bool>()),
                      [](const auto& parts) { return parts.second ? parts.first.negated() : parts.first; });
}

/// Up to eight terms over few symbols, so that like terms meet. The denominators divide 12, so that no sum of them
/// overflows.
inline rc::Gen<std::vector<Size>> few_terms() {
  const auto symbols = rc::gen::element(Symbol::Ci, Symbol::g, Symbol::k);
  const auto denominators = rc::gen::element(1, 2, 3, 4, 6, 12);
  const auto term = rc::gen::map(
      rc::gen::tuple(rc::gen::inRange(-20, 21), denominators, symbols, rc::gen::inRange(-1, 3)), [](const auto& parts) {
        const auto& [num, den, symbol, power] = parts;
        return Size(Rational(num, den)) * Size(symbol, power);
      });
  return rc::gen::map(rc::gen::container<std::vector<Size>>(term), [](std::vector<Size> terms) {
    if (terms.size() > 8) terms.resize(8);
    return terms;
  });
}

inline SizeSum sum_of(const std::vector<Size>& terms) {
  SizeSum sum;
  for (const Size& term : terms) sum += term;
  return sum;
}

inline rc::Gen<SizeSum> any_sum() { return rc::gen::map(few_terms(), sum_of); }

/// A number in 1..limit for every symbol.
inline rc::Gen<Binding> full_binding(int limit) {
  const auto values = rc::gen::container<std::vector<int>>(symbol_count, rc::gen::inRange(1, limit + 1));
  return rc::gen::map(values, [](const std::vector<int>& numbers) {
    Binding binding;
    for (int i = 0; i < symbol_count; ++i) {
      binding.set(static_cast<Symbol>(i), numbers[static_cast<std::size_t>(i)]);
    }
    return binding;
  });
}

/// Whole numbers where overflow happens: near the limits of 64 bits, powers of two, small ones, any.
inline rc::Gen<std::int64_t> extreme_number() {
  constexpr auto lowest = std::numeric_limits<std::int64_t>::min();
  constexpr auto highest = std::numeric_limits<std::int64_t>::max();
  const auto near_lowest = rc::gen::map(rc::gen::inRange(0, 4), [](int step) { return lowest + step; });
  const auto near_highest = rc::gen::map(rc::gen::inRange(0, 4), [](int step) { return highest - step; });
  const auto power = rc::gen::map(rc::gen::inRange(0, 63), [](int bit) { return std::int64_t{1} << bit; });
  const auto small = rc::gen::map(rc::gen::inRange(-6, 7), [](int value) { return std::int64_t{value}; });
  const auto any = rc::gen::map(rc::gen::pair(rc::gen::inRange<std::int64_t>(0, highest), rc::gen::inRange(0, 63)),
                                [](const auto& parts) { return parts.first >> parts.second; });
  const auto negative = rc::gen::map(any, [](std::int64_t value) { return -value; });
  return rc::gen::oneOf(near_lowest, near_highest, power, small, any, negative);
}

}  // namespace kasimir::laws
