// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/catalog.h"

#include "kasimir/base/rng.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <limits>
#include <set>

namespace kasimir {
namespace {

using testing::thrown_by;

TEST(NumberFormats, AreIntegersOf2To8And16BitsInThreeKindsAndTwoOfFloatingPoint) {
  std::set<std::string_view> names;
  int whole = 0;
  for (const NumberFormat& format : number_formats()) {
    names.insert(format.name);
    if (!format.integer) continue;
    ++whole;
    EXPECT_EQ(format.integer->str(), format.name);
    EXPECT_EQ(format.integer->bits, format.bits);
    EXPECT_NO_THROW(require_legal(*format.integer, "here"));
  }
  EXPECT_EQ(whole, 24);
  EXPECT_EQ(names.size(), 26U);
  EXPECT_EQ(number_format("bf16").bits, 16);
}

TEST(NumberFormats, HaveTheCodesOfTheirBits) {
  for (const NumberFormat& format : number_formats()) {
    if (!format.integer) continue;
    const std::int64_t codes = std::int64_t{format.integer->highest()} - format.integer->lowest() + 1;
    EXPECT_EQ(codes, (std::int64_t{1} << format.bits) - (format.integer->symmetric ? 1 : 0)) << format.name;
    if (format.integer->symmetric) {
      EXPECT_EQ(format.integer->lowest(), -format.integer->highest());
    }
  }
}

TEST(NumberFormats, RoundToTheNearestNumberOnceAndInOrder) {
  Rng rng(11);
  for (const NumberFormat& format : number_formats()) {
    float last = -std::numeric_limits<float>::infinity();
    EXPECT_EQ(format.nearest(format, 0.0F), 0.0F) << format.name;
    EXPECT_TRUE(std::isnan(format.nearest(format, std::numeric_limits<float>::quiet_NaN()))) << format.name;
    std::vector<float> values;
    for (int i = 0; i < 2000; ++i)
      values.push_back(static_cast<float>(rng.normal() * std::ldexp(1.0, format.integer ? format.bits - 1 : 10)));
    std::ranges::sort(values);
    for (const float value : values) {
      const float rounded = format.nearest(format, value);
      EXPECT_EQ(format.nearest(format, rounded), rounded) << format.name << ' ' << value;
      EXPECT_GE(rounded, last) << format.name << ' ' << value;
      last = rounded;
    }
  }
}

TEST(NumberFormats, OfBf16RoundTiesToEven) {
  const NumberFormat format = number_format("bf16");
  const auto at = [&](std::uint32_t bits) {
    return std::bit_cast<std::uint32_t>(format.nearest(format, std::bit_cast<float>(bits)));
  };
  EXPECT_EQ(at(0x3F800000U), 0x3F800000U);  // 1
  EXPECT_EQ(at(0x3F808000U), 0x3F800000U);  // half way, the lower one is even
  EXPECT_EQ(at(0x3F818000U), 0x3F820000U);  // half way, the upper one is even
  EXPECT_EQ(at(0x3F808001U), 0x3F810000U);
  EXPECT_EQ(at(0xBF807FFFU), 0xBF800000U);
  EXPECT_EQ(at(0x7F7FFFFFU), 0x7F800000U);  // the largest float32 becomes infinite
}

TEST(NumberCatalog, NamesTheNearestRecord) {
  EXPECT_EQ(thrown_by([] { return number_format("int9").bits; }),
            "2: unknown number format `int9`, did you mean `int2`, `int3` or `int4`?");
  EXPECT_EQ(thrown_by([] { return quantizer("afine").name; }), "2: unknown quantizer `afine`, did you mean `affine`?");
  EXPECT_EQ(thrown_by([] { return range_estimator("minmax").name; }),
            "2: unknown range estimator `minmax`, did you mean `min_max`?");
}

TEST(IntegerFormats, OfOtherBitsAreRefused) {
  EXPECT_EQ(thrown_by([] {
              require_legal({9, true, false}, "tensor `w`");
              return 0;
            }),
            "2: tensor `w`: 9 bits, needed are 2 to 8 or 16");
}

}  // namespace
}  // namespace kasimir
