// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <limits>

/// The scalars that an evaluation runs over: double to search, `DualNumber` to differentiate, `Interval` to bound many
/// mappings at once, 64 or 128 bit integers to count exactly. There is one copy of every formula.
namespace kasimir {

__extension__ using Int128 = __int128;

/// A value with its derivatives after N parameters (forward mode).
template <std::size_t N>
struct DualNumber {
  double value = 0;
  std::array<double, N> slope{};

  constexpr DualNumber() = default;
  constexpr DualNumber(double v) : value(v) {}  // NOLINT(google-explicit-constructor)
  /// The parameter number `i` at `v`.
  static constexpr DualNumber parameter(double v, std::size_t i) {
    DualNumber x(v);
    x.slope[i] = 1;
    return x;
  }

  friend constexpr DualNumber operator+(DualNumber a, const DualNumber& b) {
    a.value += b.value;
    for (std::size_t i = 0; i < N; ++i) a.slope[i] += b.slope[i];
    return a;
  }
  friend constexpr DualNumber operator-(DualNumber a, const DualNumber& b) {
    a.value -= b.value;
    for (std::size_t i = 0; i < N; ++i) a.slope[i] -= b.slope[i];
    return a;
  }
  friend constexpr DualNumber operator*(const DualNumber& a, const DualNumber& b) {
    DualNumber c(a.value * b.value);
    for (std::size_t i = 0; i < N; ++i) c.slope[i] = a.slope[i] * b.value + a.value * b.slope[i];
    return c;
  }
  friend constexpr DualNumber operator/(const DualNumber& a, const DualNumber& b) {
    DualNumber c(a.value / b.value);
    for (std::size_t i = 0; i < N; ++i) c.slope[i] = (a.slope[i] - c.value * b.slope[i]) / b.value;
    return c;
  }
  constexpr DualNumber& operator+=(const DualNumber& b) { return *this = *this + b; }
  constexpr DualNumber& operator-=(const DualNumber& b) { return *this = *this - b; }
  constexpr DualNumber& operator*=(const DualNumber& b) { return *this = *this * b; }
  constexpr DualNumber& operator/=(const DualNumber& b) { return *this = *this / b; }
};

/// All values from `low` to `high`. A result contains the results of all values of its arguments, up to the rounding of
/// double precision.
struct Interval {
  double low = 0;
  double high = 0;

  constexpr Interval() = default;
  constexpr Interval(double v) : low(v), high(v) {}  // NOLINT(google-explicit-constructor)
  constexpr Interval(double lo, double hi) : low(lo), high(hi) {}

  [[nodiscard]] constexpr bool contains(double v) const { return low <= v && v <= high; }

  friend constexpr Interval operator+(Interval a, Interval b) { return {a.low + b.low, a.high + b.high}; }
  friend constexpr Interval operator-(Interval a, Interval b) { return {a.low - b.high, a.high - b.low}; }
  friend constexpr Interval operator*(Interval a, Interval b) {
    const auto [lo, hi] = std::minmax({a.low * b.low, a.low * b.high, a.high * b.low, a.high * b.high});
    return {lo, hi};
  }
  /// `b` does not contain 0.
  friend constexpr Interval operator/(Interval a, Interval b) { return a * Interval{1 / b.high, 1 / b.low}; }
  constexpr Interval& operator+=(Interval b) { return *this = *this + b; }
  constexpr Interval& operator-=(Interval b) { return *this = *this - b; }
  constexpr Interval& operator*=(Interval b) { return *this = *this * b; }
  constexpr Interval& operator/=(Interval b) { return *this = *this / b; }
};

template <typename S>
concept ExactScalar = std::integral<S> || std::same_as<S, Int128>;

/// What times, energies and areas are computed in: the scalar itself, or double for integers.
template <typename S>
struct RealOf {
  using type = S;
};
template <ExactScalar S>
struct RealOf<S> {
  using type = double;
};
template <typename S>
using Real = typename RealOf<S>::type;

/// Whether a loop of this bound has one pass only, and therefore no effect.
enum class Truth : std::uint8_t { no, maybe, yes };

template <ExactScalar S>
constexpr Truth is_unit(S v) {
  return v == 1 ? Truth::yes : Truth::no;
}
constexpr Truth is_unit(double v) { return v == 1.0 ? Truth::yes : Truth::no; }
/// A parameter that passes through 1 keeps its slope: only the constant 1 has no effect.
template <std::size_t N>
constexpr Truth is_unit(const DualNumber<N>& v) {
  if (v.value != 1.0) return Truth::no;
  return std::all_of(v.slope.begin(), v.slope.end(), [](double s) { return s == 0; }) ? Truth::yes : Truth::no;
}
constexpr Truth is_unit(Interval v) {
  if (v.low == 1 && v.high == 1) return Truth::yes;
  return v.contains(1) ? Truth::maybe : Truth::no;
}

template <ExactScalar S>
constexpr S larger(S a, S b) {
  return a < b ? b : a;
}
constexpr double larger(double a, double b) { return a < b ? b : a; }
template <std::size_t N>
constexpr DualNumber<N> larger(const DualNumber<N>& a, const DualNumber<N>& b) {
  return a.value < b.value ? b : a;
}
constexpr Interval larger(Interval a, Interval b) { return {std::max(a.low, b.low), std::max(a.high, b.high)}; }

template <ExactScalar S>
constexpr S smaller(S a, S b) {
  return b < a ? b : a;
}
constexpr double smaller(double a, double b) { return b < a ? b : a; }
template <std::size_t N>
constexpr DualNumber<N> smaller(const DualNumber<N>& a, const DualNumber<N>& b) {
  return b.value < a.value ? b : a;
}
constexpr Interval smaller(Interval a, Interval b) { return {std::min(a.low, b.low), std::min(a.high, b.high)}; }

/// The smallest interval that contains both.
constexpr Interval hull(Interval a, Interval b) { return {std::min(a.low, b.low), std::max(a.high, b.high)}; }

/// The least value that the scalar stands for: what a constraint must exceed before it is surely broken.
template <ExactScalar S>
constexpr double least(S v) {
  return static_cast<double>(v);
}
constexpr double least(double v) { return v; }
template <std::size_t N>
constexpr double least(const DualNumber<N>& v) {
  return v.value;
}
constexpr double least(Interval v) { return v.low; }

/// The largest value that the scalar stands for.
template <typename S>
constexpr double largest(const S& v) {
  return least(v);
}
constexpr double largest(Interval v) { return v.high; }

/// Up to a whole number; a dual number stays as it is, since a step has no slope. Traffic is a multiple of bits divided
/// by bits per cycle; the small amount that is taken off first keeps a division's rounding from costing a cycle.
inline double round_up(double v) { return std::ceil(v - 1e-14 * std::abs(v)); }
inline Interval round_up(Interval v) { return {round_up(v.low), round_up(v.high)}; }
template <std::size_t N>
constexpr DualNumber<N> round_up(const DualNumber<N>& v) {
  return v;
}

/// base ^ exponent for base > 0.
inline double power(double base, double exponent) { return std::pow(base, exponent); }
template <std::size_t N>
DualNumber<N> power(const DualNumber<N>& base, double exponent) {
  DualNumber<N> result(std::pow(base.value, exponent));
  const double factor = exponent * result.value / base.value;
  for (std::size_t i = 0; i < N; ++i) result.slope[i] = factor * base.slope[i];
  return result;
}
inline Interval power(Interval base, double exponent) {
  const double a = std::pow(base.low, exponent);
  const double b = std::pow(base.high, exponent);
  return {std::min(a, b), std::max(a, b)};
}

/// A count as a real number.
template <typename S>
constexpr Real<S> as_real(const S& v) {
  if constexpr (ExactScalar<S>)
    return static_cast<double>(v);
  else
    return v;
}

}  // namespace kasimir
