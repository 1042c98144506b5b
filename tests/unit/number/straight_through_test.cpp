// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/straight_through.h"

#include "kasimir/base/rng.h"
#include "kasimir/number/catalog.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

namespace kasimir {
namespace {

/// The function whose derivatives straight-through gradients are: what rounding adds at `at` is kept.
double smooth(double x, double step, const IntegerFormat& format, double at) {
  const double rounding = std::nearbyint(at) - at;
  const double v = x / step;
  if (at < format.lowest() || at > format.highest())
    return step * std::clamp(v, static_cast<double>(format.lowest()), static_cast<double>(format.highest()));
  return step * (v + rounding);
}

TEST(StraightThrough, GradientsAreThoseOfTheSmoothFunction) {
  Rng rng(5);
  for (const NumberFormat& format : number_formats()) {
    if (!format.integer) continue;
    for (int i = 0; i < 200; ++i) {
      const double step = 0.01 + rng.unit();
      const double x = rng.normal() * step * format.integer->highest();
      const double at = x / step;
      const double h = 1e-6 * step;
      // The kinks at the ends have no derivative.
      if (std::abs(at - format.integer->lowest()) < 1e-3 || std::abs(at - format.integer->highest()) < 1e-3) continue;
      const StraightThrough exact = straight_through(x, step, *format.integer);
      const auto along = [&](double dx, double ds) {
        return (smooth(x + dx * h, step + ds * h, *format.integer, at) -
                smooth(x - dx * h, step - ds * h, *format.integer, at)) /
               (2 * h);
      };
      const double room = 1e-4 * (1 + std::abs(at));
      EXPECT_NEAR(exact.by_value, along(1, 0), room) << format.name << " x " << x << " step " << step;
      EXPECT_NEAR(exact.by_step, along(0, 1), room) << format.name << " x " << x << " step " << step;
    }
  }
}

TEST(StraightThrough, ValueEqualsTheSmoothFunctionWhereTheyTouch) {
  const IntegerFormat format{4, true, true};
  for (const double x : {-3.0, -0.6, 0.0, 0.24, 1.1, 9.0})
    EXPECT_DOUBLE_EQ(quantize_by_step(x, 0.5, format), smooth(x, 0.5, format, x / 0.5));
  EXPECT_TRUE(std::isnan(quantize_by_step(std::numeric_limits<double>::quiet_NaN(), 0.5, format)));
}

TEST(StraightThrough, RoundsTiesToEven) {
  const IntegerFormat format{8, true, false};
  EXPECT_EQ(quantize_by_step(0.5, 1, format), 0);
  EXPECT_EQ(quantize_by_step(1.5, 1, format), 2);
  EXPECT_EQ(quantize_by_step(-2.5, 1, format), -2);
}

TEST(LearnedStep, FollowsThePublishedFormulas) {
  const IntegerFormat format{4, false, false};  // highest code 15
  const std::vector<float> values{1, 2, -3};
  EXPECT_DOUBLE_EQ(learned_step_start(values, format), 4 / std::sqrt(15.0));
  EXPECT_EQ(learned_step_start({}, format), 0);
  EXPECT_DOUBLE_EQ(learned_step_gradient_scale(60, format), 1 / 30.0);
}

TEST(Mixtures, HaveGradientsForEveryPartAlsoThoseOfWeightZero) {
  Rng rng(6);
  for (int i = 0; i < 300; ++i) {
    std::vector<MixturePart> parts;
    for (const int bits : {2, 4, 8})
      parts.push_back({{bits, true, true}, 0.05 + rng.unit(), bits == 4 ? 0.0 : rng.unit()});
    const double x = 3 * rng.normal();
    const MixtureGradients exact = mixture_gradients(x, parts);
    double by_value = 0;
    for (std::size_t j = 0; j < parts.size(); ++j) {
      const StraightThrough of = straight_through(x, parts[j].step, parts[j].format);
      by_value += parts[j].weight * of.by_value;
      EXPECT_DOUBLE_EQ(exact.by_step[j], parts[j].weight * of.by_step);
      auto moved = parts;
      moved[j].weight += 1;  // linear in the weights: any difference is exact
      EXPECT_NEAR(exact.by_weight[j], quantize_and_mix(x, moved) - quantize_and_mix(x, parts), 1e-12);
    }
    EXPECT_DOUBLE_EQ(exact.by_value, by_value);
  }
}

}  // namespace
}  // namespace kasimir
