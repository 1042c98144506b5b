// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/fit.h"

#include "kasimir/base/rng.h"
#include "kasimir/number/catalog.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kasimir {
namespace {

using testing::thrown_by;

constexpr IntegerFormat symmetric8{8, true, true};
constexpr IntegerFormat symmetric4{4, true, true};

std::vector<QuantizerScale> fit(const std::vector<float>& values, std::int64_t slices, std::string_view estimator,
                                const IntegerFormat& format) {
  return fit_scales("tensor `w`", values, slices, quantizer("symmetric"), range_estimator(estimator), format);
}

TEST(FitScales, GivesEachSliceItsOwnStep) {
  const auto scales = fit({1, -2, 0.5F, 254, 0, 127}, 3, "min_max", symmetric8);
  ASSERT_EQ(scales.size(), 3U);
  EXPECT_EQ(scales[0].step, 2.0F / 127);
  EXPECT_EQ(scales[1].step, 2.0F);
  EXPECT_EQ(scales[2].step, 1.0F);
}

TEST(FitScales, RefusesWhatIsNotANumberByName) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const float infinity = std::numeric_limits<float>::infinity();
  EXPECT_EQ(thrown_by([&] { return fit({1, nan, infinity, 0}, 1, "mse", symmetric8).size(); }),
            "2: tensor `w`: 2 of 4 values are not finite, the first is nan at place 1");
  const std::vector<QuantizerScale> one{{0.5F, 0, 0}};
  EXPECT_EQ(
      thrown_by([&] { return encode_all("tensor `w`", std::vector<float>{0, -infinity}, one, symmetric8).size(); }),
      "2: tensor `w`: 1 of 2 values are not finite, the first is -inf at place 1");
}

TEST(FitScales, RefusesBitsThatThereAreNot) {
  EXPECT_EQ(thrown_by([] { return fit({1}, 1, "min_max", {12, true, true}).size(); }),
            "2: tensor `w`: 12 bits, needed are 2 to 8 or 16");
}

TEST(EncodeAll, UsesTheStepOfEachSlice) {
  const std::vector<QuantizerScale> scales{{0.5F, 0, 0}, {2, 0, 0}};
  EXPECT_EQ(encode_all("w", std::vector<float>{1, -0.75F, 1, 1000}, scales, symmetric8),
            (std::vector<std::int32_t>{2, -2, 0, 127}));
}

TEST(MseEstimator, IsNeverWorseThanTheWholeRangeAndBetterWithOutliers) {
  Rng rng(3);
  std::vector<float> values(2000);
  for (float& value : values) value = static_cast<float>(rng.normal());
  values[7] = 40;
  std::ranges::sort(values);
  const auto error = [&](std::string_view estimator) {
    return quantization_error(values, quantizer("symmetric"), fit(values, 1, estimator, symmetric4).front(),
                              symmetric4);
  };
  EXPECT_LT(error("mse"), 0.7 * error("min_max"));
  EXPECT_LE(error("mse"), error("percentile"));
}

TEST(MseEstimator, FindsTheBestClippingOfAFineScan) {
  Rng rng(4);
  std::vector<float> values(1000);
  for (float& value : values) value = static_cast<float>(rng.normal());
  std::ranges::sort(values);
  const float found = fit(values, 1, "mse", symmetric4).front().step;
  const double at_found = quantization_error(values, quantizer("symmetric"), {found, 0, 0}, symmetric4);
  const float whole = fit(values, 1, "min_max", symmetric4).front().step;
  double least = 1e9;
  for (int i = 1; i <= 2000; ++i) {
    const float step = whole * static_cast<float>(i) / 2000;
    least = std::min(least, quantization_error(values, quantizer("symmetric"), {step, 0, 0}, symmetric4));
  }
  EXPECT_LE(at_found, 1.01 * least);
}

TEST(PercentileRange, CutsTheSameShareAtBothEnds) {
  std::vector<float> values;
  for (int i = 0; i < 1000; ++i) values.push_back(static_cast<float>(i));
  EXPECT_EQ(percentile_range(values, 0.99), (ValueRange{10, 989}));
  EXPECT_EQ(percentile_range(values, 1), (ValueRange{0, 999}));
}

TEST(LearnedEstimator, StartsAtTwiceTheMeanOverTheRootOfTheHighestCode) {
  // mean |x| = 1.5, highest code 7
  EXPECT_FLOAT_EQ(fit({1, -2, 1, 2}, 1, "learned", symmetric4).front().step, 3 / std::sqrt(7.0F));
}

}  // namespace
}  // namespace kasimir
