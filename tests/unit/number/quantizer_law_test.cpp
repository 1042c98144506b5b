// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"
#include "kasimir/number/catalog.h"
#include "kasimir/number/fit.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

namespace kasimir {
namespace {

constexpr std::uint64_t seed = 20;

/// Tensors of all kinds: both signs, one sign, far from zero, outliers, constants, zeros, tiny and huge.
std::vector<std::vector<float>> tensors() {
  Rng rng(seed);
  std::vector<std::vector<float>> all;
  const auto add = [&](std::size_t count, const std::function<double()>& draw) {
    auto& of = all.emplace_back();
    for (std::size_t i = 0; i < count; ++i) of.push_back(static_cast<float>(draw()));
  };
  add(500, [&] { return rng.normal(); });
  add(500, [&] { return std::max(0.0, rng.normal()); });
  add(301, [&] { return 5 + rng.unit(); });
  add(300, [&] { return -7 - rng.unit(); });
  add(400, [&] { return rng.chance(0.01) ? 50 * rng.normal() : 0.1 * rng.normal(); });
  add(20, [] { return 0.5; });
  add(20, [] { return -3.25; });
  add(20, [] { return 0.0; });
  add(200, [&] { return 1e-30 * rng.normal(); });
  add(200, [&] { return 1e30 * rng.normal(); });
  add(1, [] { return 1.0; });
  add(0, [] { return 0.0; });
  add(2, [&] { return rng.chance(0.5) ? 3e38 : -3e38; });
  return all;
}

struct Case {
  const Quantizer& quantizer;
  const RangeEstimator& estimator;
  IntegerFormat format;
  const std::vector<float>& values;
  QuantizerScale scale;
  [[nodiscard]] float operator()(float value) const { return quantizer.quantize(value, scale, format); }
  [[nodiscard]] std::string str() const {
    return fmt::format("seed {}: {} {} {}, {} values, step {} zero {}", seed, quantizer.name, estimator.name,
                       format.str(), values.size(), scale.step, scale.zero_point);
  }
};

void for_all_lawful(const std::function<void(const Case&)>& visit) {
  const auto all = tensors();
  for (const Quantizer* quantizer : quantizers()) {
    if (!quantizer->lawful) continue;
    for (const RangeEstimator* estimator : range_estimators())
      for (const NumberFormat& format : number_formats())
        for (const auto& values : all) {
          if (!format.integer) continue;
          const auto scales = fit_scales("tensor", values, 1, *quantizer, *estimator, *format.integer);
          const Case one{*quantizer, *estimator, *format.integer, values, scales.front()};
          SCOPED_TRACE(one.str());
          visit(one);
          if (::testing::Test::HasFailure()) return;
        }
  }
}

TEST(Quantizers, HaveAStepThatCanDivide) {
  for_all_lawful([](const Case& of) {
    EXPECT_GE(of.scale.step, std::numeric_limits<float>::min());
    EXPECT_LE(of.scale.step, std::numeric_limits<float>::max());
    EXPECT_GE(of.scale.zero_point, of.format.lowest());
    EXPECT_LE(of.scale.zero_point, of.format.highest());
    EXPECT_EQ(of.scale.offset, 0);
  });
}

TEST(Quantizers, KeepZeroExactly) {
  for_all_lawful([](const Case& of) {
    EXPECT_EQ(of(0.0F), 0.0F);
    EXPECT_EQ(encode(0.0F, of.scale, of.format), of.scale.zero_point);
  });
}

TEST(Quantizers, AreIdempotent) {
  for_all_lawful([](const Case& of) {
    for (const float value : of.values) EXPECT_EQ(of(of(value)), of(value)) << value;
  });
}

TEST(Quantizers, KeepTheOrder) {
  for_all_lawful([](const Case& of) {
    std::vector<float> sorted = of.values;
    std::ranges::sort(sorted);
    for (std::size_t i = 1; i < sorted.size(); ++i) EXPECT_LE(of(sorted[i - 1]), of(sorted[i])) << sorted[i];
  });
}

TEST(Quantizers, ErrByHalfAStepAtMostWithinTheirRange) {
  for_all_lawful([](const Case& of) {
    const double step = of.scale.step;
    const double low = step * (of.format.lowest() - of.scale.zero_point);
    const double high = step * (of.format.highest() - of.scale.zero_point);
    for (const float value : of.values) {
      // The room for the rounding of float, and of the zero point of an affine range to a code.
      const double room = 1e-6 * std::max(std::abs(static_cast<double>(value)), step);
      const double beyond = std::max({0.0, low - value, value - high});
      EXPECT_LE(std::abs(static_cast<double>(of(value)) - value), std::max(step / 2, beyond) + room) << value;
    }
  });
}

TEST(Quantizers, CoverTheWholeRangeOfMinAndMax) {
  for_all_lawful([](const Case& of) {
    if (of.estimator.name != "min_max") return;
    for (const float value : of.values) {
      if (of.quantizer.name == "symmetric" && !of.format.is_signed && value < 0) continue;  // no codes below zero
      const double room = 1e-6 * std::max(std::abs(value), of.scale.step);
      EXPECT_LE(std::abs(static_cast<double>(of(value)) - value), of.scale.step * 0.5 + room) << value;
    }
  });
}

TEST(Quantizers, LeaveWhatIsNotANumberVisible) {
  for_all_lawful([](const Case& of) {
    EXPECT_TRUE(std::isnan(of(std::numeric_limits<float>::quiet_NaN())));
    constexpr float infinity = std::numeric_limits<float>::infinity();
    EXPECT_EQ(encode(infinity, of.scale, of.format), of.format.highest());
    EXPECT_EQ(encode(-infinity, of.scale, of.format), of.format.lowest());
  });
}

TEST(Quantizers, TakeTheirRangeFromValuesInAnyOrder) {
  Rng rng(seed);
  for_all_lawful([&](const Case& of) {
    std::vector<float> shuffled = of.values;
    for (std::size_t i = shuffled.size(); i > 1; --i) std::swap(shuffled[i - 1], shuffled[rng.below(i)]);
    EXPECT_EQ(fit_scales("tensor", shuffled, 1, of.quantizer, of.estimator, of.format).front(), of.scale);
  });
}

TEST(AffineQuantizer, HasOneStepLessThanCodes) {
  const QuantizerScale scale = quantizer("affine").fit({-1, 1}, {2, false, false});
  EXPECT_EQ(scale, (QuantizerScale{2.0F / 3, 2, 0}));
  EXPECT_FLOAT_EQ(quantizer("affine").quantize(0.9F, scale, {2, false, false}), 2.0F / 3);
}

TEST(OriginalQuantizer, HasTheFaultsOfThePublishedCode) {
  const Quantizer& original = quantizer("original");
  const IntegerFormat bits2{2, false, false};
  const IntegerFormat bits4{4, false, false};
  const QuantizerScale scale = original.fit({-1, 1}, bits2);
  EXPECT_EQ(original.quantize(1, scale, bits2), 0.5F);  // the top level is lost: a full step
  EXPECT_EQ(original.quantize(-1, scale, bits2), -1.0F);
  // 1.27 / 16 = 0.079375: zero becomes the fifth code, 0.026875.
  EXPECT_NEAR(original.quantize(0, original.fit({-0.37F, 0.9F}, bits4), bits4), 0.026875, 1e-6);
  EXPECT_TRUE(std::isnan(original.quantize(0.3F, original.fit({0.3F, 0.3F}, bits4), bits4)));  // no extent: 0 / 0
}

}  // namespace
}  // namespace kasimir
