// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/grid.h"
#include "kasimir/interp/interpreter.h"

namespace kasimir {

/// A value of a stage in double precision. A stored number keeps all its bits until it meets a value.
struct GridValue {
  double value = 0;
  bool stored = false;
};

inline constexpr double grid_unit = 0x1p-16;
/// Kept within the ends of the grid.
double clamp_grid(double value);
/// The nearest multiple of 2^-16 in 32 bits, ties to even.
double to_grid(double value);
/// `value` with 20 significant bits, and a multiple of 2^-62.
double round_stored(double value);
/// The integer nearest to high + low, ties to even, |low| being at most half a unit in the last place of `high`.
double round_pair(double high, double low);

/// Stages in double precision by the rules of grid.h: every rounding is written out, everything between is exact.
struct GridDomain {
  using Value = GridValue;
  [[nodiscard]] static GridValue zero() { return {}; }
  [[nodiscard]] static GridValue constant(const Constant& c);
  [[nodiscard]] static GridValue apply(Fn fn, GridValue a);
  [[nodiscard]] static GridValue apply(Fn fn, GridValue a, GridValue b);
  [[nodiscard]] static GridValue scale(GridValue value, const Rational& factor, bool root);
  [[nodiscard]] static bool stabiliser() { return true; }
};

}  // namespace kasimir
