// SPDX-License-Identifier: Apache-2.0
#include "kasimir/size/size.h"

#include "support/thrown.h"

#include <gtest/gtest.h>

#include <limits>

namespace kasimir {
namespace {

using testing::thrown_by;

constexpr std::int64_t lowest = std::numeric_limits<std::int64_t>::min();
constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

TEST(Rational, IsInLowestTermsWithAPositiveDenominator) {
  EXPECT_EQ(Rational(6, -4), Rational(-3, 2));
  EXPECT_EQ(Rational(-6, -4).str(), "3/2");
  EXPECT_EQ(Rational(0, -5), Rational(0));
  EXPECT_EQ(Rational(0, 5).den(), 1);
  EXPECT_EQ(Rational(lowest, lowest), Rational(1));
  EXPECT_EQ(Rational(lowest, 2).num(), lowest / 2);
}

TEST(Rational, PrintsItsValue) {
  EXPECT_EQ(Rational(3).str(), "3");
  EXPECT_EQ(Rational(-1, 2).str(), "-1/2");
  EXPECT_EQ(Rational(-1, 2).value(), -0.5);
  EXPECT_TRUE(Rational(4, 2).whole());
  EXPECT_FALSE(Rational(1, 2).whole());
}

TEST(Rational, Calculates) {
  EXPECT_EQ(Rational(1, 2) + Rational(1, 3), Rational(5, 6));
  EXPECT_EQ(Rational(1, 2) - Rational(1, 3), Rational(1, 6));
  EXPECT_EQ(Rational(2, 3) * Rational(9, 4), Rational(3, 2));
  EXPECT_EQ(Rational(2, 3) / Rational(-4, 9), Rational(-3, 2));
  EXPECT_EQ(0 / Rational(2, 3), Rational(0));
}

TEST(Rational, IsOrderedByValue) {
  EXPECT_LT(Rational(1, 3), Rational(1, 2));
  EXPECT_LT(Rational(-1, 2), Rational(-1, 3));
  EXPECT_LT(Rational(highest - 1, highest), Rational(1));
  EXPECT_GT(Rational(highest, 2), Rational(highest - 1, 2));
}

TEST(Rational, SaysWhatOverflows) {
  EXPECT_EQ(thrown_by([] { return Rational(highest) * Rational(2); }),
            "2: a size overflows 64 bits: 9223372036854775807 * 2");
  EXPECT_EQ(thrown_by([] { return Rational(1, highest) * Rational(1, 2); }),
            "2: a size overflows 64 bits: (1/9223372036854775807) * (1/2)");
  EXPECT_EQ(thrown_by([] { return Rational(highest) / Rational(1, 2); }),
            "2: a size overflows 64 bits: 9223372036854775807 / (1/2)");
  EXPECT_EQ(thrown_by([] { return Rational(highest) + Rational(1); }),
            "2: a size overflows 64 bits: 9223372036854775807 + 1");
  EXPECT_EQ(thrown_by([] { return Rational(lowest) - Rational(1); }),
            "2: a size overflows 64 bits: -9223372036854775808 - 1");
  EXPECT_EQ(thrown_by([] { return Rational(lowest, -1); }), "2: a size overflows 64 bits: -9223372036854775808 / -1");
}

TEST(Rational, CalculatesUpToTheLastBit) {
  EXPECT_EQ(Rational(highest, 2) * Rational(2), Rational(highest));
  EXPECT_EQ(Rational(highest) / Rational(highest), Rational(1));
  EXPECT_EQ(Rational(lowest) / Rational(lowest), Rational(1));
  EXPECT_EQ(Rational(highest) + Rational(lowest), Rational(-1));
  EXPECT_EQ(Rational(1, highest) + Rational(-1, highest), Rational(0));
}

TEST(Rational, RefusesADivisionByZero) {
  EXPECT_EQ(thrown_by([] { return Rational(3, 0); }), "2: a size divided by zero: 3 / 0");
  EXPECT_EQ(thrown_by([] { return Rational(1, 2) / Rational(0); }), "2: a size divided by zero: (1/2) / 0");
}

}  // namespace
}  // namespace kasimir
