// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/grid.h"
#include "kasimir/interp/interpreter.h"
#include "kasimir/number/fixed_point.h"

#include <memory>
#include <optional>

namespace kasimir {

/// A value of a stage in integers: `fine` * 2^-32. A stored number is also what a product multiplies with.
struct FixedValue {
  std::int64_t fine = 0;
  Dyadic factor;  ///< stored numbers
  bool stored = false;
};

/// A number that is known before inference.
FixedValue stored_value(double value);
/// A multiple of 2^-16 as a value of a stage.
FixedValue grid_value(std::int64_t code);
/// The multiple of 2^-16 that a stage's result holds.
std::int64_t grid_code(const FixedValue& value);

/// Functions of multiples of 2^-16, made in double precision beforehand.
class GridTables {
 public:
  GridTables();
  /// The function at code * 2^-16, in units of 2^-16. exp, sin, tanh, sigmoid, gelu, sqrt, rsqrt or hardswish.
  [[nodiscard]] std::int64_t at(Fn fn, std::int64_t code) const;

 private:
  [[nodiscard]] static std::int64_t look_up(const std::vector<std::int32_t>& table, std::int64_t code, int bits);
  std::vector<std::int32_t> exp_, sigmoid_, tanh_, gelu_, sin_;
  Dyadic phase_;
};

/// Stages in integers only, by the rules of grid.h; for one stage, whose factor it knows, and which has been through
/// fold_stored(): no constants, no operations of stored numbers only.
class IntegerDomain {
 public:
  using Value = FixedValue;
  IntegerDomain(std::shared_ptr<const GridTables> tables, const BoundStage& stage);

  [[nodiscard]] static FixedValue zero() { return {}; }
  [[nodiscard]] static FixedValue constant(const Constant& c);
  [[nodiscard]] FixedValue apply(Fn fn, const FixedValue& a) const;
  [[nodiscard]] static FixedValue apply(Fn fn, const FixedValue& a, const FixedValue& b);
  [[nodiscard]] FixedValue scale(const FixedValue& value, const Rational& factor, bool root) const;
  [[nodiscard]] static bool stabiliser() { return true; }

 private:
  std::shared_ptr<const GridTables> tables_;
  std::int64_t divisor_ = 1;      ///< the factor is 1 / divisor_
  std::optional<Dyadic> factor_;  ///< or this
};

}  // namespace kasimir
