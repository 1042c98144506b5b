// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/fixed_point.h"

#include "kasimir/base/rng.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kasimir {
namespace {

TEST(Dyadic, HasTwentyBitsOfTheNumber) {
  Rng rng(1);
  for (int i = 0; i < 5000; ++i) {
    const double value = std::ldexp(rng.normal(), static_cast<int>(rng.between(-30, 30)));
    const Dyadic of = to_dyadic(value);
    EXPECT_LE(std::abs(of.value() - value), std::ldexp(std::abs(value), -20)) << value;
    EXPECT_LE(std::abs(of.mantissa), 1 << 20) << value;
    EXPECT_EQ(to_dyadic(of.value()).value(), of.value()) << value;
    EXPECT_EQ(to_dyadic(-value).value(), -of.value()) << value;
  }
}

TEST(Dyadic, RoundsTiesToEvenAndKeepsWithinItsShifts) {
  EXPECT_EQ(to_dyadic(0), (Dyadic{0, 0}));
  EXPECT_EQ(to_dyadic(1), (Dyadic{1 << 19, 19}));
  EXPECT_EQ(to_dyadic(1 + 0x1p-20).mantissa, 1 << 19);        // half way to the next mantissa, which is odd
  EXPECT_EQ(to_dyadic(1 + 0x3p-20).mantissa, (1 << 19) + 2);  // half way, the next one is even
  EXPECT_EQ(to_dyadic(0x1p-62), (Dyadic{1, 62}));
  EXPECT_EQ(to_dyadic(0x1p-64), (Dyadic{0, 62}));
  EXPECT_EQ(to_dyadic(0x1p70).value(), 0x1p59);
  EXPECT_EQ(to_dyadic(-0x1p70).value(), -0x1p59);
}

TEST(ShiftRounded, IsTheNearestIntegerTiesToEven) {
  for (int value = -1000; value <= 1000; ++value)
    for (int shift = 0; shift <= 6; ++shift)
      EXPECT_EQ(static_cast<double>(shift_rounded(value, shift)), std::nearbyint(std::ldexp(value, -shift)))
          << value << " >> " << shift;
  EXPECT_EQ(static_cast<std::int64_t>(shift_rounded(3, -4)), 48);
  EXPECT_EQ(static_cast<std::int64_t>(shift_rounded(-3, -4)), -48);
}

TEST(DivideRounded, IsTheNearestIntegerTiesToEven) {
  for (int value = -500; value <= 500; ++value)
    for (int divisor = 1; divisor <= 12; ++divisor)
      EXPECT_EQ(static_cast<double>(divide_rounded(value, divisor)),
                std::nearbyint(static_cast<double>(value) / divisor))
          << value << " / " << divisor;
}

TEST(RootRounded, IsTheNearestInteger) {
  for (std::int64_t value = 0; value < 70000; ++value)
    EXPECT_EQ(root_rounded(value), std::llround(std::sqrt(static_cast<double>(value)))) << value;
  EXPECT_EQ(root_rounded((std::int64_t{1} << 47) - 1), 11863283);
}

}  // namespace
}  // namespace kasimir
