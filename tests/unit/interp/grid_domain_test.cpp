// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/grid_domain.h"

#include "kasimir/base/rng.h"
#include "kasimir/interp/integer_domain.h"
#include "kasimir/interp/real.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 31;

BoundStage stage_with(Rational factor, bool root) {
  BoundStage stage;
  stage.factor = factor;
  stage.root = root;
  return stage;
}

IntegerDomain integers(Rational factor = 1, bool root = false) {
  static const auto tables = std::make_shared<const GridTables>();
  return {tables, stage_with(factor, root)};
}

/// The same number for both domains.
struct Pair {
  FixedValue fixed;
  GridValue grid;
};

/// Multiples of 2^-32 of all sizes up to 2^20, often on the coarser grid, at ends and at ties.
Pair random_value(Rng& rng) {
  std::int64_t fine = static_cast<std::int64_t>(rng.bits()) >> rng.between(11, 62);
  if (rng.chance(0.4)) fine &= ~std::int64_t{0xFFFF};
  if (rng.chance(0.1)) fine |= 0x8000;
  if (rng.chance(0.03)) fine = rng.chance(0.5) ? fine_most : -fine_most;
  fine = std::clamp(fine, -fine_most, fine_most);
  return {{fine, {}, false}, {static_cast<double>(fine) * 0x1p-32, false}};
}

Pair random_stored(Rng& rng) {
  const double value = std::ldexp(rng.normal(), static_cast<int>(rng.between(-45, 22)));
  return {stored_value(value), {value, true}};
}

void expect_same(const FixedValue& fixed, const GridValue& grid) {
  EXPECT_EQ(static_cast<double>(fixed.fine) * 0x1p-32, grid.value);
}

TEST(GridArithmetic, GivesTheSameBitsInIntegersAndInDoublesForEveryFunction) {
  Rng rng(seed);
  const IntegerDomain fixed = integers();
  for (int f = 0; f < fn_count; ++f) {
    const auto fn = static_cast<Fn>(f);
    for (int i = 0; i < 20000; ++i) {
      const bool stored_first = rng.chance(0.2);
      const Pair a = stored_first ? random_stored(rng) : random_value(rng);
      if (fn_info(fn).arity == 1) {
        if (stored_first) continue;  // folded beforehand
        SCOPED_TRACE(fmt::format("seed {}: {} of {}", seed, fn_info(fn).name, a.grid.value));
        expect_same(fixed.apply(fn, a.fixed), GridDomain::apply(fn, a.grid));
      } else {
        const Pair b = !stored_first && rng.chance(0.2) ? random_stored(rng) : random_value(rng);
        SCOPED_TRACE(fmt::format("seed {}: {} {} {}", seed, a.grid.value, fn_info(fn).name, b.grid.value));
        expect_same(IntegerDomain::apply(fn, a.fixed, b.fixed), GridDomain::apply(fn, a.grid, b.grid));
      }
      if (HasFailure()) return;
    }
  }
}

TEST(GridArithmetic, GivesTheSameBitsForEveryFactor) {
  Rng rng(seed + 1);
  for (const auto& [factor, root] : {std::pair{Rational(1), false},
                                     {Rational(1, 2), false},
                                     {Rational(1, 9), false},
                                     {Rational(1, 64), false},
                                     {Rational(1, 49), false},
                                     {Rational(3, 7), false},
                                     {Rational(1, 24), true},
                                     {Rational(5), true}}) {
    const IntegerDomain fixed = integers(factor, root);
    for (int i = 0; i < 20000; ++i) {
      const Pair a = rng.chance(0.1) ? random_stored(rng) : random_value(rng);
      SCOPED_TRACE(fmt::format("seed {}: {} times {} root {}", seed + 1, a.grid.value, factor.str(), root));
      expect_same(fixed.scale(a.fixed, factor, root), GridDomain::scale(a.grid, factor, root));
      if (HasFailure()) return;
    }
  }
}

TEST(GridArithmetic, IsCloseToRealNumbers) {
  Rng rng(seed + 2);
  // Half a unit of the result, and what half a unit of the argument of a table makes of it.
  const auto room = [](Fn fn, double y) {
    switch (fn) {
      case Fn::exp:
        return 0x1p-12 * y * 1.01 + 0x1p-17;
      case Fn::sigmoid:
        return 0x1p-14 + 0x1p-17;
      case Fn::sin:
        return 1e-4;
      default:
        return 0x1p-12;
    }
  };
  for (const Fn fn : {Fn::exp, Fn::sigmoid, Fn::tanh, Fn::gelu, Fn::sin, Fn::sqrt, Fn::hardswish}) {
    for (int i = 0; i < 2000; ++i) {
      double x = std::nearbyint(std::clamp(3 * rng.normal(), -10.0, 10.0) * 0x1p16) * 0x1p-16;
      if (fn == Fn::sqrt) x = std::abs(x);
      const double y = RealDomain::apply(fn, x);
      EXPECT_NEAR(GridDomain::apply(fn, GridValue{x, false}).value, y, room(fn, y)) << fn_info(fn).name << ' ' << x;
    }
  }
  for (const double x : {0x1p-16, 0.01, 0.5, 1.0, 7.0, 30000.0}) {
    const double code = std::nearbyint(x * 0x1p16) * 0x1p-16;
    EXPECT_NEAR(GridDomain::apply(Fn::rsqrt, GridValue{code, false}).value, 1 / std::sqrt(code), 0x1p-17);
  }
}

TEST(GridArithmetic, StaysAtTheEnds) {
  const IntegerDomain fixed = integers();
  const FixedValue most = grid_value(grid_highest);
  EXPECT_EQ(grid_code(fixed.scale(IntegerDomain::apply(Fn::add, most, most), 1, false)), grid_highest);
  EXPECT_EQ(grid_code(fixed.scale(IntegerDomain::apply(Fn::mul, fixed.apply(Fn::neg, most), most), 1, false)),
            grid_lowest);
  EXPECT_EQ(grid_code(fixed.apply(Fn::exp, most)), grid_highest);
  EXPECT_EQ(grid_code(IntegerDomain::apply(Fn::div, most, FixedValue{})), grid_highest);  // by zero: by 2^-32
  EXPECT_EQ(grid_code(fixed.apply(Fn::sqrt, fixed.apply(Fn::neg, most))), 0);
}

TEST(RoundPair, LetsTheLowPartDecideTiesOnly) {
  EXPECT_EQ(round_pair(2.5, 0), 2);
  EXPECT_EQ(round_pair(2.5, 1e-20), 3);
  EXPECT_EQ(round_pair(2.5, -1e-20), 2);
  EXPECT_EQ(round_pair(3.5, -1e-20), 3);
  EXPECT_EQ(round_pair(3.5, 0), 4);
  EXPECT_EQ(round_pair(-2.5, -1e-20), -3);
  EXPECT_EQ(round_pair(3.25, 1e-20), 3);
}

}  // namespace
}  // namespace kasimir
