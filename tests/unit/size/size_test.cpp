// SPDX-License-Identifier: Apache-2.0
#include "kasimir/size/size.h"

#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <limits>
#include <type_traits>

namespace kasimir {
namespace {

using enum Symbol;
using testing::thrown_by;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();
constexpr int lowest_int = std::numeric_limits<int>::min();

static_assert(std::is_trivially_copyable_v<Size>, "the sampler copies sizes in its inner loop");

TEST(Size, PrintsInOneWayOnly) {
  EXPECT_EQ(Size().str(), "1");
  EXPECT_EQ(Size(0).str(), "0");
  EXPECT_EQ((9 * Size(Co) / Size(g) * Size(Ci)).str(), "9*Ci*Co/g");
  EXPECT_EQ((Size(Co) / (4 * Size(g))).str(), "Co/(4*g)");
  EXPECT_EQ((1 / (2 * Size(H))).str(), "1/(2*H)");
  EXPECT_EQ(Size(Ci, 2).str(), "Ci^2");
  EXPECT_EQ(Size(Ci, -2).str(), "1/Ci^2");
  EXPECT_EQ((Size(Ci) / -2).str(), "-Ci/2");
  EXPECT_EQ(Size(Rational(-1, 2)).str(), "-1/2");
  EXPECT_EQ((Size(s) * Size(H)).str(), "H*s");
  EXPECT_EQ((Size(Rational(3, 2)) * Size(N) * Size(x5, 3) / Size(r) / Size(k, 2)).str(), "3*N*x5^3/(2*r*k^2)");
}

TEST(Size, TellsWhatItContains) {
  const Size size = Size::parse("9*Ci*x2/g^2");
  EXPECT_EQ(size.power(Ci), 1);
  EXPECT_EQ(size.power(g), -2);
  EXPECT_EQ(size.power(H), 0);
  EXPECT_EQ(size.coefficient(), Rational(9));
  EXPECT_TRUE(size.has(x2));
  EXPECT_FALSE(size.has(x1));
  EXPECT_TRUE(size.has_free());
  EXPECT_FALSE(Size::parse("Ci/g").has_free());
  EXPECT_FALSE(size.is_number());
  EXPECT_TRUE(Size(Rational(1, 2)).is_number());
  EXPECT_TRUE((Size(Ci) / Size(Ci)).is_one());
  EXPECT_FALSE(Size(2).is_one());
}

TEST(Size, IsZeroWithoutSymbols) {
  EXPECT_EQ(Size(Ci) * 0, Size(0));
  EXPECT_EQ(0 / Size(Ci), Size(0));
  EXPECT_EQ(Size(0) * Size(Ci) * Size(Ci), Size(0));
}

TEST(Size, HasPowersUpToAHundred) {
  EXPECT_EQ(Size(Ci, 60) * Size(Ci, 40), Size(Ci, 100));
  EXPECT_EQ(Size(Ci, -100) / Size(Ci, -100), Size(1));
  EXPECT_EQ(thrown_by([] { return Size(Ci, 60) * Size(Ci, 41); }), "2: a size has a power beyond 100: Ci^60 * Ci^41");
  EXPECT_EQ(thrown_by([] { return Size(Ci, 100) * Size(Ci, 100); }),
            "2: a size has a power beyond 100: Ci^100 * Ci^100");
  EXPECT_EQ(thrown_by([] { return Size(x5, -60) / Size(x5, 41); }),
            "2: a size has a power beyond 100: 1/x5^60 / x5^41");
  EXPECT_EQ(thrown_by([] { return Size(Ci, 101); }), "2: a size has a power beyond 100: Ci^101");
  EXPECT_EQ(thrown_by([] { return Size(Ci, -101); }), "2: a size has a power beyond 100: Ci^-101");
  EXPECT_EQ(thrown_by([] { return Size(Ci, 2).pow(51); }), "2: a size has a power beyond 100: (Ci^2)^51");
  EXPECT_EQ(thrown_by([] { return Size(Ci).pow(lowest_int); }), "2: a size has a power beyond 100: Ci^-2147483648");
}

TEST(Size, SaysWhatOverflows) {
  EXPECT_EQ(thrown_by([] { return Size(highest) * Size(2); }), "2: a size overflows 64 bits: 9223372036854775807 * 2");
  EXPECT_EQ(thrown_by([] { return Size(lowest).negated(); }), "2: a size overflows 64 bits: -9223372036854775808 * -1");
  EXPECT_EQ(thrown_by([] { return Size(2).pow(63); }), "2: a size overflows 64 bits: 2147483648 * 4294967296");
  EXPECT_EQ(Size(2).pow(62), Size(std::int64_t{1} << 62));
  EXPECT_EQ(Size(-2).pow(63), Size(lowest));
}

TEST(Size, RefusesADivisionByZero) {
  EXPECT_EQ(thrown_by([] { return Size(Ci) / Size(0); }), "2: a size divided by zero: Ci / 0");
  EXPECT_EQ(thrown_by([] { return Size(0).pow(-1); }), "2: a size divided by zero: 0^-1");
  EXPECT_EQ(Size(0).pow(0), Size(1));
}

TEST(Size, RaisesToPowers) {
  EXPECT_EQ((2 * Size(Ci) / Size(g)).pow(3), Size::parse("8*Ci^3/g^3"));
  EXPECT_EQ((2 * Size(Ci) / Size(g)).pow(-2), Size::parse("g^2/(4*Ci^2)"));
  EXPECT_EQ(Size(Ci).pow(0), Size(1));
  EXPECT_EQ(Size(-1).pow(lowest_int), Size(1));
}

TEST(Size, HasCommonDivisorsAndMultiples) {
  EXPECT_EQ(gcd(Size::parse("12*Ci*Co"), Size::parse("18*Ci^2/g")), Size::parse("6*Ci/g"));
  EXPECT_EQ(lcm(Size::parse("12*Ci*Co"), Size::parse("18*Ci^2/g")), Size::parse("36*Ci^2*Co"));
  EXPECT_EQ(gcd(Size(Rational(1, 2)), Size(Rational(1, 3))), Size(Rational(1, 6)));
  EXPECT_EQ(lcm(Size(Rational(1, 2)), Size(Rational(1, 3))), Size(1));
  EXPECT_EQ(gcd(Size(-4), Size(6)), Size(2));
  EXPECT_EQ(lcm(Size(-4), Size(6)), Size(12));
  EXPECT_EQ(gcd(Size(0), Size(-2) * Size(Ci)), 2 * Size(Ci));
  EXPECT_EQ(gcd(Size(Ci), Size(0)), Size(Ci));
  EXPECT_EQ(lcm(Size(0), Size(Ci)), Size(0));
}

TEST(Size, SaysWhichDivisorOrMultipleOverflows) {
  EXPECT_EQ(thrown_by([] { return gcd(Size(lowest), Size(lowest)); }),
            "2: a size overflows 64 bits: gcd(-9223372036854775808, -9223372036854775808)");
  EXPECT_EQ(thrown_by([] { return gcd(Size(Rational(1, highest)), Size(Rational(1, 2))); }),
            "2: a size overflows 64 bits: gcd(1/9223372036854775807, 1/2)");
  EXPECT_EQ(thrown_by([] { return lcm(Size(highest), Size(2)); }),
            "2: a size overflows 64 bits: lcm(9223372036854775807, 2)");
  EXPECT_EQ(thrown_by([] { return lcm(Size(lowest), Size(1)); }),
            "2: a size overflows 64 bits: lcm(-9223372036854775808, 1)");
}

TEST(Size, KnowsItsDivisors) {
  EXPECT_TRUE(Size::parse("4*Ci*Co").divisible_by(Size::parse("2*Ci")));
  EXPECT_TRUE(Size::parse("Ci/2").divisible_by(Size::parse("1/4")));
  EXPECT_TRUE(Size(0).divisible_by(Size(Ci)));
  EXPECT_FALSE(Size::parse("Ci").divisible_by(Size::parse("g")));
  EXPECT_FALSE(Size::parse("Ci").divisible_by(Size(2)));
  EXPECT_FALSE(Size::parse("Ci/2").divisible_by(Size::parse("1/3")));
  EXPECT_FALSE(Size(1).divisible_by(Size(0)));
}

TEST(Size, PutsASizeInPlaceOfASymbol) {
  EXPECT_EQ(Size::parse("Ci^2/g").substitute(Ci, Size::parse("x0*g")), Size::parse("x0^2*g"));
  EXPECT_EQ(Size::parse("Ci/g^2").substitute(g, Size(4)), Size::parse("Ci/16"));
  EXPECT_EQ(Size::parse("Ci").substitute(Ci, Size::parse("2*Ci")), Size::parse("2*Ci"));
  EXPECT_EQ(Size::parse("Ci").substitute(Co, Size(0)), Size(Ci));
  EXPECT_EQ(thrown_by([] { return Size::parse("Ci/g").substitute(g, Size(0)); }), "2: a size divided by zero: 0^-1");
}

TEST(Size, HasAnExactValueAtABinding) {
  const Binding site = Binding().set(Ci, 64).set(Co, 128).set(g, 3);
  EXPECT_EQ(Size::parse("9*Ci*Co/2").at(site), Rational(36864));
  EXPECT_EQ(Size::parse("-Ci/g").at(site), Rational(-64, 3));
  EXPECT_EQ(Size::parse("Ci/g").value_at(site), 64.0 / 3.0);
  EXPECT_EQ(Size(7).at(Binding()), Rational(7));
}

TEST(Size, HasAValueWhereOnlyTheWayThereOverflows) {
  const Binding site = Binding().set(Ci, 64).set(Co, 32).set(g, 6);
  EXPECT_EQ(Size::parse("Ci^20/Co^23").at(site), Rational(32));
  EXPECT_EQ(Size::parse("Ci^20/(3*Co^24)").at(site), Rational(1, 3));
  EXPECT_EQ(Size::parse("Ci^20/g^30").extent_at(site).rejection().rule, "size fits in 64 bits");
}

TEST(Size, SaysWhereItsValueOverflows) {
  const Binding site = Binding().set(Ci, 4096).set(H, 7);
  EXPECT_EQ(thrown_by([&] { return Size(Ci, 6).at(site); }), "2: a size overflows 64 bits: Ci^6 at Ci=4096");
  EXPECT_EQ(thrown_by([&] { return Size(Ci, -6).at(site); }), "2: a size overflows 64 bits: 1/Ci^6 at Ci=4096");
}

TEST(Size, FailsACheckWhereASymbolIsNotBound) {
  const Binding site = Binding().set(Ci, 64);
  const auto message =
      ::testing::StartsWith("70: internal error: g of Ci/g is not bound, only `Ci=64` (binding.has(symbol))\n");
  EXPECT_THAT(thrown_by([&] { return Size::parse("Ci/g").at(site); }), message);
  EXPECT_THAT(thrown_by([&] { return Size::parse("Ci/g").value_at(site); }), message);
  EXPECT_THAT(thrown_by([&] { return Size::parse("Ci/g").extent_at(site); }), message);
  // The symbol before it overflows already.
  EXPECT_THAT(thrown_by([&] { return Size::parse("Ci^50/g").extent_at(site); }),
              ::testing::HasSubstr("g of Ci^50/g is not bound"));
}

TEST(Extent, IsAWholeNumberOfAtLeastOne) {
  const Binding site = Binding().set(Ci, 64).set(Co, 96).set(g, 4);
  EXPECT_EQ(*Size::parse("Ci/g").extent_at(site), 16);
  EXPECT_EQ(*Size::parse("Ci*Co/(6*g)").extent_at(site), 256);
  EXPECT_EQ(*Size(1).extent_at(Binding()), 1);
  EXPECT_EQ(*Size(highest).extent_at(Binding()), highest);
}

TEST(Extent, IsRejectedWithBothSides) {
  const Binding site = Binding().set(Ci, 64).set(Co, 96).set(g, 3);
  const auto why = [&](const char* text) { return Size::parse(text).extent_at(site).rejection(); };
  EXPECT_EQ(why("Ci/3"), (Rejection{"size is whole", "Ci/3 = 64/3 at Ci=64"}));
  EXPECT_EQ(why("Ci/(Co*g)"), (Rejection{"size is whole", "Ci/(Co*g) = 2/9 at Ci=64 Co=96 g=3"}));
  EXPECT_EQ(why("3/2"), (Rejection{"size is whole", "3/2"}));
  EXPECT_EQ(why("-Ci"), (Rejection{"size is at least 1", "-Ci = -64 at Ci=64"}));
  EXPECT_EQ(why("0"), (Rejection{"size is at least 1", "0"}));
  EXPECT_EQ(why("Ci^11"), (Rejection{"size fits in 64 bits", "Ci^11 at Ci=64"}));
}

TEST(Size, IsOrderedByPowersThenCoefficient) {
  EXPECT_LT(Size(5), Size(Co));
  EXPECT_LT(Size(Co, 7), Size(Ci));
  EXPECT_LT(Size(Ci), 2 * Size(Ci));
  EXPECT_EQ(Size(Ci).compare_symbols(2 * Size(Ci)), std::strong_ordering::equal);
}

}  // namespace
}  // namespace kasimir
