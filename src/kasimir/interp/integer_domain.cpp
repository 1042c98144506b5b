// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/integer_domain.h"

#include "kasimir/base/error.h"
#include "kasimir/interp/real.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kasimir {
namespace {

constexpr std::int64_t one_grid = std::int64_t{1} << (fine_bits - grid_bits);  // in units of 2^-32

FixedValue fine_value(WideInteger value) { return {clamp_wide(value, -fine_most, fine_most), {}, false}; }

std::int64_t to_grid(WideInteger fine, int shift = fine_bits - grid_bits) {
  return clamp_wide(shift_rounded(fine, shift), grid_lowest, grid_highest);
}

FixedValue product(const FixedValue& a, const FixedValue& b) {
  if (a.stored) return fine_value(shift_rounded(WideInteger{b.fine} * a.factor.mantissa, a.factor.shift));
  if (b.stored) return fine_value(shift_rounded(WideInteger{a.fine} * b.factor.mantissa, b.factor.shift));
  return fine_value(shift_rounded(WideInteger{a.fine} * b.fine, fine_bits));
}

FixedValue quotient(const FixedValue& a, const FixedValue& b) {
  const std::int64_t divisor = std::max<std::int64_t>(b.fine, 1);
  const WideInteger whole = divide_rounded(WideInteger{a.fine} * (1 << grid_bits), divisor);
  return grid_value(clamp_wide(whole, grid_lowest, grid_highest));
}

/// 2^24 / sqrt(code): the largest n with (2n - 1)^2 * code <= 2^50 is the nearest integer.
std::int64_t inverse_root(std::int64_t code) {
  const WideInteger limit = WideInteger{1} << 50;
  std::int64_t nearest = 0;
  for (std::int64_t bit = std::int64_t{1} << 24; bit > 0; bit >>= 1) {
    const WideInteger odd = 2 * (nearest + bit) - 1;
    if (odd * odd * code <= limit) nearest += bit;
  }
  return nearest;
}

std::int64_t hardswish(std::int64_t code) {
  constexpr std::int64_t three = 3 << grid_bits;
  constexpr std::int64_t six = 6 << grid_bits;
  const std::int64_t clipped = std::clamp<std::int64_t>(code + three, 0, six);
  return clamp_wide(divide_rounded(WideInteger{code} * clipped, six), grid_lowest, grid_highest);
}

std::vector<std::int32_t> table_of(Fn fn, int bits) {
  std::vector<std::int32_t> table;
  for (std::int64_t i = table_lowest; i <= table_highest; ++i) {
    const double value = RealDomain::apply(fn, std::ldexp(static_cast<double>(i), -bits));
    const double code = std::nearbyint(std::ldexp(value, grid_bits));
    table.push_back(static_cast<std::int32_t>(std::min(code, static_cast<double>(grid_highest))));
  }
  return table;
}

std::vector<std::int32_t> sine_table() {
  std::vector<std::int32_t> table;
  for (std::int64_t i = 0; i < turn; ++i) {
    const double value = std::sin(2 * std::numbers::pi * static_cast<double>(i) / static_cast<double>(turn));
    table.push_back(static_cast<std::int32_t>(std::nearbyint(std::ldexp(value, grid_bits))));
  }
  return table;
}

}  // namespace

FixedValue stored_value(double value) {
  const Dyadic factor = to_dyadic(value);
  return {clamp_wide(shift_rounded(WideInteger{factor.mantissa}, factor.shift - fine_bits), -fine_most, fine_most),
          factor, true};
}

FixedValue grid_value(std::int64_t code) { return {code * one_grid, {}, false}; }

std::int64_t grid_code(const FixedValue& value) { return to_grid(value.fine); }

GridTables::GridTables()
    : exp_(table_of(Fn::exp, exp_argument_bits)),
      sigmoid_(table_of(Fn::sigmoid, exp_argument_bits)),
      tanh_(table_of(Fn::tanh, tanh_argument_bits)),
      gelu_(table_of(Fn::gelu, tanh_argument_bits)),
      sin_(sine_table()),
      phase_(to_dyadic(static_cast<double>(turn) / (2 * std::numbers::pi))) {}

std::int64_t GridTables::look_up(const std::vector<std::int32_t>& table, std::int64_t code, int bits) {
  const std::int64_t index = clamp_wide(shift_rounded(code, grid_bits - bits), table_lowest, table_highest);
  return table[static_cast<std::size_t>(index - table_lowest)];
}

std::int64_t GridTables::at(Fn fn, std::int64_t code) const {
  switch (fn) {
    case Fn::exp:
      return look_up(exp_, code, exp_argument_bits);
    case Fn::sigmoid:
      return look_up(sigmoid_, code, exp_argument_bits);
    case Fn::tanh:
      return look_up(tanh_, code, tanh_argument_bits);
    case Fn::gelu: {
      const auto index = static_cast<std::int64_t>(shift_rounded(code, grid_bits - tanh_argument_bits));
      if (index > table_highest) return code;
      return index < table_lowest ? 0 : gelu_[static_cast<std::size_t>(index - table_lowest)];
    }
    case Fn::sin: {
      const WideInteger phase = shift_rounded(WideInteger{code} * phase_.mantissa, phase_.shift + grid_bits);
      return sin_[static_cast<std::size_t>(phase & (turn - 1))];
    }
    case Fn::sqrt:
      return root_rounded(std::max<std::int64_t>(code, 0) << grid_bits);
    case Fn::rsqrt:
      return inverse_root(std::max<std::int64_t>(code, 1));
    case Fn::hardswish:
      return hardswish(code);
    case Fn::add:
    case Fn::sub:
    case Fn::mul:
    case Fn::div:
    case Fn::join:
    case Fn::max:
    case Fn::min:
    case Fn::neg:
    case Fn::abs:
    case Fn::relu:
      break;
  }
  KASIMIR_CHECK(false, "{} needs no table", fn_info(fn).name);
}

IntegerDomain::IntegerDomain(std::shared_ptr<const GridTables> tables, const BoundStage& stage)
    : tables_(std::move(tables)) {
  if (!stage.root && stage.factor.num() == 1) {
    divisor_ = stage.factor.den();
  } else {
    const double value = stage.factor.value();
    factor_ = to_dyadic(stage.root ? std::sqrt(value) : value);
  }
}

FixedValue IntegerDomain::constant(const Constant& /*c*/) {
  KASIMIR_CHECK(false, "a constant that was not made a stored number");
}

FixedValue IntegerDomain::apply(Fn fn, const FixedValue& a) const {
  switch (fn) {
    case Fn::neg:
      return fine_value(-WideInteger{a.fine});
    case Fn::abs:
      return fine_value(a.fine < 0 ? -WideInteger{a.fine} : WideInteger{a.fine});
    case Fn::relu:
      return {std::max<std::int64_t>(a.fine, 0), {}, false};
    default:
      return grid_value(tables_->at(fn, to_grid(a.fine)));
  }
}

FixedValue IntegerDomain::apply(Fn fn, const FixedValue& a, const FixedValue& b) {
  switch (fn) {
    case Fn::add:
    case Fn::join:
      return fine_value(WideInteger{a.fine} + b.fine);
    case Fn::sub:
      return fine_value(WideInteger{a.fine} - b.fine);
    case Fn::mul:
      return product(a, b);
    case Fn::div:
      return quotient(a, b);
    case Fn::max:
      return {std::max(a.fine, b.fine), {}, false};
    case Fn::min:
      return {std::min(a.fine, b.fine), {}, false};
    default:
      break;
  }
  KASIMIR_CHECK(false, "{} takes one argument", fn_info(fn).name);
}

FixedValue IntegerDomain::scale(const FixedValue& value, const Rational& /*factor*/, bool /*root*/) const {
  constexpr int shift = fine_bits - grid_bits;
  if (!factor_ && divisor_ == 1) return grid_value(to_grid(value.fine));
  if (factor_) return grid_value(to_grid(WideInteger{value.fine} * factor_->mantissa, factor_->shift + shift));
  return grid_value(
      clamp_wide(divide_rounded(value.fine, WideInteger{divisor_} * one_grid), grid_lowest, grid_highest));
}

}  // namespace kasimir
