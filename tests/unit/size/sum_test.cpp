// SPDX-License-Identifier: Apache-2.0
#include "kasimir/size/size.h"

#include "support/thrown.h"

#include <gtest/gtest.h>

#include <limits>

namespace kasimir {
namespace {

using enum Symbol;
using testing::thrown_by;

constexpr std::int64_t highest = std::numeric_limits<std::int64_t>::max();

TEST(SizeSum, PrintsItsTermsHighPowersFirst) {
  EXPECT_EQ(SizeSum().str(), "0");
  EXPECT_EQ(SizeSum(Size(3)).str(), "3");
  EXPECT_EQ((SizeSum(Size(k) / 2) - SizeSum(Size(Rational(1, 2)))).str(), "k/2 - 1/2");
  EXPECT_EQ((SizeSum(1) - SizeSum(Size(k))).str(), "-k + 1");
  EXPECT_EQ((SizeSum(Size(g)) + SizeSum(Size(Ci, -1)) + SizeSum(Size(Ci) * Size(Co)) + SizeSum(Size(Ci, 2))).str(),
            "Ci^2 + Ci*Co + g + 1/Ci");
}

TEST(SizeSum, MergesTermsWithTheSameSymbols) {
  SizeSum sum = Size(Ci);
  sum += Size(Ci) / 2;
  EXPECT_EQ(sum.str(), "3*Ci/2");
  ASSERT_EQ(sum.terms().size(), 1U);
  sum += Size(Ci) * Size(Rational(-3, 2));
  EXPECT_TRUE(sum.is_zero());
  EXPECT_EQ(sum, SizeSum());
}

TEST(SizeSum, HasNoZeroTerms) {
  EXPECT_TRUE(SizeSum(0).is_zero());
  EXPECT_TRUE((SizeSum(Size(Ci)) * Size(0)).is_zero());
  EXPECT_EQ(SizeSum(Size(Ci)) += Size(0), SizeSum(Size(Ci)));
}

TEST(SizeSum, AddsItselfToItself) {
  SizeSum sum = SizeSum::parse("Ci + 1");
  sum += sum;
  EXPECT_EQ(sum.str(), "2*Ci + 2");
  sum += sum.terms()[1];
  EXPECT_EQ(sum.str(), "2*Ci + 4");
}

TEST(SizeSum, MultipliesEachTerm) { EXPECT_EQ((SizeSum::parse("Ci/2 - 1") * (-2 * Size(H))).str(), "-Ci*H + 2*H"); }

TEST(SizeSum, PutsASizeInPlaceOfASymbol) {
  EXPECT_EQ(SizeSum::parse("Ci + Co + 1").substitute(Co, Size(Ci)).str(), "2*Ci + 1");
  EXPECT_TRUE(SizeSum::parse("Ci - Co").substitute(Co, Size(Ci)).is_zero());
}

TEST(SizeSum, HasAValueAtABinding) {
  const Binding site = Binding().set(k, 3).set(Ci, 8);
  EXPECT_EQ(SizeSum::parse("Ci + k/2 - 1/2").at(site), Rational(9));
  EXPECT_EQ(SizeSum::parse("Ci + k/2 - 1/2").value_at(site), 9.0);
  EXPECT_EQ(SizeSum().at(site), Rational(0));
}

TEST(SizeSum, SaysWhatOverflowsAndStaysAsItWas) {
  SizeSum sum = SizeSum::parse("Ci + 9223372036854775807");
  EXPECT_EQ(thrown_by([&] { sum += Size(1); }), "2: a size overflows 64 bits: 9223372036854775807 + 1");
  EXPECT_EQ(thrown_by([&] { sum += SizeSum::parse("Ci + 1"); }),
            "2: a size overflows 64 bits: 9223372036854775807 + 1");
  EXPECT_EQ(sum.str(), "Ci + 9223372036854775807");
}

TEST(SizeSum, MergesCoefficientsUpToTheLastBit) {
  // The quotient of the two coefficients needs more than 64 bits, their sum does not.
  const Rational first(3037000499, 2147483647);
  const Rational second(2147483629, 2147483647);
  SizeSum sum = Size(first) * Size(Ci);
  sum += Size(second) * Size(Ci);
  EXPECT_EQ(sum.str(), "5184484128*Ci/2147483647");
  SizeSum near_zero = Size(Rational(highest, 3)) * Size(Ci);
  near_zero += Size(Rational(-highest + 1, 3)) * Size(Ci);
  EXPECT_EQ(near_zero.str(), "Ci/3");
}

}  // namespace
}  // namespace kasimir
