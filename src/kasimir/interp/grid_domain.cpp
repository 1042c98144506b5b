// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/grid_domain.h"

#include "kasimir/interp/real.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kasimir {
namespace {

constexpr double fine_unit = 0x1p-32;
constexpr double fine_end = 0x1p20;

double clamp_fine(double value) { return std::clamp(value, -fine_end, fine_end); }

/// a * b rounded once to a multiple of `unit`, a power of two.
double product(double a, double b, double unit) {
  const double high = a * b;
  const double low = std::fma(a, b, -high);
  return round_pair(high / unit, low / unit) * unit;
}

/// a / b rounded once to an integer; b > 0 and a / b below 2^53 in size. The nearest integer to the rounded quotient is
/// off by one at most, which the remainder tells: it is exact.
double quotient(double a, double b) {
  const double near = std::nearbyint(a / b);
  const double rest = std::fma(-near, b, a);
  if (2 * rest > b) return near + 1;
  if (2 * rest < -b) return near - 1;
  const bool tie = std::abs(2 * rest) == b;
  const bool odd = std::fmod(near, 2.0) != 0;
  return tie && odd ? near + (rest > 0 ? 1 : -1) : near;
}

/// A value where it is no factor.
double plain(GridValue of) {
  return of.stored ? clamp_fine(std::nearbyint(round_stored(of.value) / fine_unit) * fine_unit) : of.value;
}

double multiply(GridValue a, GridValue b) {
  const double left = a.stored ? round_stored(a.value) : a.value;
  const double right = b.stored ? round_stored(b.value) : b.value;
  return clamp_fine(product(left, right, fine_unit));
}

double divide(double a, double b) {
  const double divisor = std::max(b, fine_unit);
  // Far beyond the ends of the grid, where the quotient would not be exact.
  if (std::abs(a) >= 0x1p20 * divisor) return clamp_grid(std::copysign(0x1p20, a));
  return clamp_grid(quotient(a / grid_unit, divisor) * grid_unit);
}

/// A function at multiples of 2^-bits that fill 16 bits; `x` is a multiple of 2^-16.
double by_table(Fn fn, double x, int bits) {
  const double unit = std::ldexp(1.0, -bits);
  const double index =
      std::clamp(std::nearbyint(x / unit), static_cast<double>(table_lowest), static_cast<double>(table_highest));
  return to_grid(RealDomain::apply(fn, index * unit));
}

double gelu(double x) {
  const double index = std::nearbyint(x * 0x1p12);
  if (index > static_cast<double>(table_highest)) return x;
  return index < static_cast<double>(table_lowest) ? 0 : by_table(Fn::gelu, x, tanh_argument_bits);
}

double sine(double x) {
  const double per_turn = static_cast<double>(turn);
  const double phase = std::nearbyint(x * round_stored(per_turn / (2 * std::numbers::pi)));
  const double within = phase - per_turn * std::floor(phase / per_turn);
  return to_grid(std::sin(2 * std::numbers::pi * within / per_turn));
}

double root(double x) { return std::nearbyint(std::sqrt(std::max(x, 0.0) / grid_unit / grid_unit)) * grid_unit; }

/// 2^24 / sqrt(code) is computed to within one of the nearest integer n, for which (2n - 1)^2 <= 2^50 / code < (2n +
/// 1)^2: all exact.
double inverse_root(double x) {
  const double code = std::max(x / grid_unit, 1.0);
  double near = std::nearbyint(0x1p24 / std::sqrt(code));
  const auto squared = [&](double odd) { return odd * odd * code; };
  if (squared(2 * near + 1) <= 0x1p50) near += 1;
  if (squared(2 * near - 1) > 0x1p50) near -= 1;
  return near * grid_unit;
}

double hardswish(double x) {
  const double scaled = x / grid_unit * (std::clamp(x + 3, 0.0, 6.0) / grid_unit);
  return clamp_grid(quotient(scaled, 6 / grid_unit) * grid_unit);
}

double function(Fn fn, double x) {
  switch (fn) {
    case Fn::exp:
    case Fn::sigmoid:
      return by_table(fn, x, exp_argument_bits);
    case Fn::tanh:
      return by_table(fn, x, tanh_argument_bits);
    case Fn::gelu:
      return gelu(x);
    case Fn::sin:
      return sine(x);
    case Fn::sqrt:
      return root(x);
    case Fn::rsqrt:
      return inverse_root(x);
    case Fn::hardswish:
      return hardswish(x);
    default:
      return RealDomain::apply(fn, x);
  }
}

}  // namespace

double clamp_grid(double value) { return std::clamp(value, -0x1p15, 0x1p15 - grid_unit); }

double to_grid(double value) { return clamp_grid(std::nearbyint(value / grid_unit) * grid_unit); }

double round_stored(double value) {
  const double kept = std::clamp(value, -0x1p59, 0x1p59);
  if (kept == 0) return 0;
  const double unit = std::max(std::ldexp(1.0, std::ilogb(kept) + 1 - 20), 0x1p-62);
  return std::nearbyint(kept / unit) * unit;
}

double round_pair(double high, double low) {
  const double near = std::nearbyint(high);
  const double rest = high - near;
  // Only at a tie can so little decide.
  if (rest == 0.5 && low > 0) return near + 1;
  if (rest == -0.5 && low < 0) return near - 1;
  // `near` is the even neighbour; on the other side of the tie it is the nearest one as well.
  return near;
}

GridValue GridDomain::constant(const Constant& c) { return {RealDomain::constant(c), true}; }

GridValue GridDomain::apply(Fn fn, GridValue a) {
  if (a.stored) return {RealDomain::apply(fn, a.value), true};
  switch (fn) {
    case Fn::neg:
    case Fn::abs:
    case Fn::relu:
      return {RealDomain::apply(fn, a.value), false};
    default:
      return {function(fn, to_grid(a.value)), false};
  }
}

GridValue GridDomain::apply(Fn fn, GridValue a, GridValue b) {
  if (a.stored && b.stored) return {RealDomain::apply(fn, a.value, b.value), true};
  switch (fn) {
    case Fn::mul:
      return {multiply(a, b), false};
    case Fn::div:
      return {divide(plain(a), plain(b)), false};
    default:
      return {clamp_fine(RealDomain::apply(fn, plain(a), plain(b))), false};
  }
}

GridValue GridDomain::scale(GridValue value, const Rational& factor, bool root_factor) {
  const double total = plain(value);
  if (!root_factor && factor.num() == 1)
    return {clamp_grid(quotient(total / grid_unit, static_cast<double>(factor.den())) * grid_unit), false};
  const double by = round_stored(RealDomain::scale(1.0, factor, root_factor));
  return {clamp_grid(product(total, by, grid_unit)), false};
}

}  // namespace kasimir
