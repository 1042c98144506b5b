// SPDX-License-Identifier: Apache-2.0
// What the function table says of functions, tried on numbers: in reals and in the field of fingerprints.
#include "kasimir/base/rng.h"
#include "kasimir/interp/field.h"
#include "kasimir/interp/real.h"

#include <gtest/gtest.h>

#include <cmath>
#include <iostream>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 20250921;
constexpr int draws = 400;

std::vector<Fn> functions(int arity) {
  std::vector<Fn> all;
  for (int i = 0; i < fn_count; ++i)
    if (fn_info(static_cast<Fn>(i)).arity == arity) all.push_back(static_cast<Fn>(i));
  return all;
}

/// What the laws need of a domain of numbers.
struct Reals {
  using Value = double;
  static double draw(Rng& rng) { return 4.0 * rng.normal(); }
  static bool nonnegative(double x) { return x >= 0.0; }
  static double magnitude(double x) { return std::abs(x); }
  static double add(double a, double b) { return a + b; }
  static bool equal(double a, double b) { return std::abs(a - b) <= 1e-12 * std::max(1.0, std::abs(a)); }
  static bool defined(Fn fn, double x) { return x > 0.0 || (fn != Fn::sqrt && fn != Fn::rsqrt); }
  static double apply(Fn fn, double a) { return RealDomain::apply(fn, a); }
  static double apply(Fn fn, double a, double b) { return RealDomain::apply(fn, a, b); }
};

struct Field {
  using Value = FieldDomain::Value;
  static Value draw(Rng& rng) { return static_cast<Value>(rng.below(FieldDomain::prime)); }
  static bool nonnegative(Value x) { return FieldDomain::apply(Fn::abs, x) == x; }
  static Value magnitude(Value x) { return FieldDomain::apply(Fn::abs, x); }
  static Value add(Value a, Value b) { return FieldDomain::apply(Fn::add, a, b); }
  static bool equal(Value a, Value b) { return a == b; }
  static bool defined(Fn /*fn*/, Value /*x*/) { return true; }
  static Value apply(Fn fn, Value a) { return FieldDomain::apply(fn, a); }
  static Value apply(Fn fn, Value a, Value b) { return FieldDomain::apply(fn, a, b); }
};

/// The traits that no drawn number contradicts.
template <typename Domain>
FnTraits observed(Fn fn, Rng& rng) {
  using Value = typename Domain::Value;
  FnTraits traits{true, true, true, true, true, true, true, true, false};
  const auto f = [&](Value x) { return Domain::apply(fn, x); };
  const auto minus = [](Value x) { return Domain::apply(Fn::neg, x); };
  if (Domain::defined(fn, Value{0})) traits.zero_to_zero = Domain::equal(f(Value{0}), Value{0});
  for (int i = 0; i < draws; ++i) {
    const Value x = Domain::draw(rng);
    const Value other = Domain::draw(rng);
    const bool both = Domain::defined(fn, x) && Domain::defined(fn, minus(x));
    if (Domain::defined(fn, x)) {
      const Value y = f(x);
      traits.nonnegative &= Domain::nonnegative(y);
      traits.keeps_magnitude &= Domain::equal(Domain::magnitude(y), Domain::magnitude(x));
      if (Domain::nonnegative(x)) traits.identity_on_nonnegative &= Domain::equal(y, x);
      if (Domain::defined(fn, y)) traits.idempotent &= Domain::equal(f(y), y);
      if (Domain::defined(fn, other))
        traits.linear &= Domain::equal(f(Domain::add(x, other)), Domain::add(y, f(other)));
    }
    traits.odd &= both && Domain::equal(f(minus(x)), minus(f(x)));
    traits.even &= both && Domain::equal(f(minus(x)), f(x));
  }
  return traits;
}

template <typename Domain>
bool commutes(Fn fn, Rng& rng) {
  for (int i = 0; i < draws; ++i) {
    const auto a = Domain::draw(rng);
    const auto b = Domain::draw(rng);
    if (!Domain::equal(Domain::apply(fn, a, b), Domain::apply(fn, b, a))) return false;
  }
  return true;
}

std::string str(const FnTraits& t) {
  return fmt::format("zero {} nonnegative {} odd {} even {} idempotent {} identity {} magnitude {} linear {}",
                     t.zero_to_zero, t.nonnegative, t.odd, t.even, t.idempotent, t.identity_on_nonnegative,
                     t.keeps_magnitude, t.linear);
}

/// Nothing is claimed that does not hold, and nothing that holds is forgotten.
TEST(FunctionTraits, AreThoseOfTheRealFunctions) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed);
  for (Fn fn : functions(1)) {
    FnTraits expected = observed<Reals>(fn, rng);
    // The root of 0 is 0, but 0 lies at the end of where roots are tried.
    if (fn == Fn::sqrt) expected.zero_to_zero = RealDomain::apply(Fn::sqrt, 0.0) == 0.0;
    if (fn == Fn::rsqrt) expected.zero_to_zero = false;
    EXPECT_EQ(str(fn_info(fn).traits), str(expected)) << fn_info(fn).name;
  }
}

TEST(FunctionTraits, HoldInTheField) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed, 1);
  for (Fn fn : functions(1)) {
    const FnTraits& said = fn_info(fn).traits;
    const FnTraits seen = observed<Field>(fn, rng);
    SCOPED_TRACE(fn_info(fn).name);
    EXPECT_LE(said.zero_to_zero, seen.zero_to_zero);
    EXPECT_LE(said.nonnegative, seen.nonnegative);
    EXPECT_LE(said.odd, seen.odd);
    EXPECT_LE(said.even, seen.even);
    EXPECT_LE(said.idempotent, seen.idempotent);
    EXPECT_LE(said.identity_on_nonnegative, seen.identity_on_nonnegative);
    EXPECT_LE(said.keeps_magnitude, seen.keeps_magnitude);
    EXPECT_LE(said.linear, seen.linear);
  }
}

TEST(FunctionTraits, SayWhichFunctionsCommute) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed, 2);
  for (Fn fn : functions(2)) {
    EXPECT_EQ(fn_info(fn).traits.commutative, commutes<Reals>(fn, rng)) << fn_info(fn).name;
    EXPECT_EQ(fn_info(fn).traits.commutative, commutes<Field>(fn, rng)) << fn_info(fn).name;
  }
}

}  // namespace
}  // namespace kasimir
