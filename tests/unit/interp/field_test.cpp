// SPDX-License-Identifier: Apache-2.0
// The laws that make equal functions meet in the finite field, at random elements.
#include "kasimir/interp/field.h"

#include "kasimir/base/rng.h"
#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

using F = FieldDomain;
using Value = F::Value;

class FieldLaw : public ::testing::Test {
 protected:
  static constexpr std::uint64_t seed = 97;
  template <typename Check>
  void for_many(Check check) {
    Rng rng(seed);
    for (int i = 0; i < 500; ++i) {
      const auto draw = [&] { return i == 0 ? Value{0} : static_cast<Value>(rng.below(F::prime)); };
      const Value a = draw();
      const Value b = draw();
      SCOPED_TRACE(fmt::format("seed {} draw {}: {} {}", seed, i, a, b));
      check(a, b);
    }
  }
  static Value f(Fn fn, Value a) { return F::apply(fn, a); }
  static Value f(Fn fn, Value a, Value b) { return F::apply(fn, a, b); }
};

TEST_F(FieldLaw, ArithmeticIsExact) {
  for_many([](Value a, Value b) {
    EXPECT_EQ(f(Fn::add, a, b), f(Fn::add, b, a));
    EXPECT_EQ(f(Fn::sub, f(Fn::add, a, b), b), a);
    EXPECT_EQ(f(Fn::neg, f(Fn::neg, a)), a);
    if (b != 0) {
      EXPECT_EQ(f(Fn::mul, f(Fn::div, a, b), b), a);
    }
    EXPECT_EQ(f(Fn::join, a, 0), a);
  });
}

TEST_F(FieldLaw, AbsoluteValueIsMultiplicativeAndEven) {
  for_many([](Value a, Value b) {
    EXPECT_EQ(f(Fn::abs, f(Fn::mul, a, b)), f(Fn::mul, f(Fn::abs, a), f(Fn::abs, b)));
    EXPECT_EQ(f(Fn::abs, f(Fn::neg, a)), f(Fn::abs, a));
    EXPECT_EQ(f(Fn::abs, f(Fn::abs, a)), f(Fn::abs, a));
  });
}

TEST_F(FieldLaw, ReluIsIdempotentAndSplitsTheAbsoluteValue) {
  for_many([](Value a, Value) {
    EXPECT_EQ(f(Fn::relu, f(Fn::relu, a)), f(Fn::relu, a));
    EXPECT_EQ(f(Fn::add, f(Fn::relu, a), f(Fn::relu, f(Fn::neg, a))), f(Fn::abs, a));
  });
}

TEST_F(FieldLaw, RootsAreRootsOfTheAbsoluteValue) {
  for_many([](Value a, Value) {
    EXPECT_EQ(f(Fn::mul, f(Fn::sqrt, a), f(Fn::sqrt, a)), f(Fn::abs, a));
    EXPECT_EQ(f(Fn::abs, f(Fn::sqrt, a)), f(Fn::sqrt, a));
    if (a != 0) {
      EXPECT_EQ(f(Fn::mul, f(Fn::sqrt, a), f(Fn::rsqrt, a)), 1U);
    }
  });
}

TEST_F(FieldLaw, OddFunctionsAreOddAndPositiveOnesPositive) {
  for_many([](Value a, Value) {
    for (Fn fn : {Fn::sin, Fn::tanh}) EXPECT_EQ(f(fn, f(Fn::neg, a)), f(Fn::neg, f(fn, a)));
    for (Fn fn : {Fn::exp, Fn::sigmoid}) EXPECT_EQ(f(Fn::relu, f(fn, a)), f(fn, a));
  });
  EXPECT_EQ(f(Fn::exp, 0), 1U);
  EXPECT_EQ(f(Fn::tanh, 0), 0U);
  EXPECT_EQ(f(Fn::gelu, 0), 0U);
  EXPECT_EQ(f(Fn::hardswish, 0), 0U);
}

TEST_F(FieldLaw, MaximumIsALattice) {
  for_many([](Value a, Value b) {
    EXPECT_EQ(f(Fn::max, a, b), f(Fn::max, b, a));
    EXPECT_EQ(f(Fn::max, a, a), a);
    EXPECT_EQ(f(Fn::max, f(Fn::max, a, b), a), f(Fn::max, a, b));
    EXPECT_EQ(f(Fn::min, a, b), f(Fn::neg, f(Fn::max, f(Fn::neg, a), f(Fn::neg, b))));
  });
}

TEST_F(FieldLaw, FunctionsAreNotOneAnother) {
  int equal = 0;
  for_many([&](Value a, Value b) {
    if (a == 0) return;
    const Fn unary[] = {Fn::exp, Fn::sin, Fn::tanh, Fn::sigmoid, Fn::gelu, Fn::hardswish, Fn::sqrt, Fn::rsqrt};
    for (Fn x : unary) {
      equal += f(x, a) == a ? 1 : 0;
      for (Fn y : unary) equal += x < y && f(x, a) == f(y, a) ? 1 : 0;
    }
    equal += f(Fn::max, a, b) == f(Fn::add, a, b) ? 1 : 0;
  });
  EXPECT_EQ(equal, 0);
}

TEST_F(FieldLaw, RationalsAreExact) {
  const Value third = F::constant({Rational(1, 3), false});
  EXPECT_EQ(f(Fn::mul, third, F::constant({Rational(-6), false})), F::constant({Rational(-2), false}));
  EXPECT_EQ(F::scale(12, Rational(1, 3), false), 4U);
  EXPECT_EQ(F::scale(12, Rational(1, 4), true), 6U);
  EXPECT_NE(F::constant({Rational(1), true}), F::constant({Rational(1), false}));
}

/// Half of the numbers have no root in the field: a root's square is the factor up to its sign, and roots multiply.
TEST_F(FieldLaw, RootsOfFactorsMultiply) {
  const auto root = [](const Rational& factor, Value of = 1) { return F::scale(of, factor, true); };
  EXPECT_EQ(root(Rational(1, 5), root(Rational(1, 3))), root(Rational(1, 15)));
  EXPECT_EQ(root(Rational(1, 3), root(Rational(1, 3))), f(Fn::abs, F::scale(1, Rational(1, 3), false)));
}

TEST_F(FieldLaw, RefusesTheWrongNumberOfArguments) {
  EXPECT_THAT(testing::thrown_by([] { return F::apply(Fn::mul, 1); }),
              ::testing::HasSubstr("70: internal error: * takes two arguments"));
  EXPECT_THAT(testing::thrown_by([] { return F::apply(Fn::exp, 1, 2); }),
              ::testing::HasSubstr("70: internal error: exp takes one argument"));
}

}  // namespace
}  // namespace kasimir
