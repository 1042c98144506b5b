// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/hypervolume.h"

#include "kasimir/base/rng.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <iostream>
#include <numbers>
#include <vector>

namespace kasimir::study {
namespace {

constexpr std::uint64_t seed = 3;
const Point reference{0.5, 1e6, 1e4};

/// From the reference to the worse of all these points in each coordinate.
double box(std::span<const Point> points) {
  Point corner = points.front();
  for (const Point& point : points) {
    corner.accuracy = std::min(corner.accuracy, point.accuracy);
    corner.macs = std::max(corner.macs, point.macs);
    corner.params = std::max(corner.params, point.params);
  }
  return std::max(0.0, corner.accuracy - reference.accuracy) * std::max(0.0, std::log(reference.macs / corner.macs)) *
         std::max(0.0, std::log(reference.params / corner.params));
}

/// By inclusion and exclusion over all subsets.
double by_subsets(const std::vector<Point>& points) {
  double volume = 0;
  for (std::size_t chosen = 1; chosen < std::size_t{1} << points.size(); ++chosen) {
    std::vector<Point> subset;
    for (std::size_t i = 0; i < points.size(); ++i)
      if ((chosen >> i & 1) != 0) subset.push_back(points[i]);
    volume += (subset.size() % 2 == 1 ? 1 : -1) * box(subset);
  }
  return volume;
}

/// Some worse than the reference, and coordinates that coincide.
std::vector<Point> random_points(Rng& rng) {
  std::vector<Point> points(rng.below(8));
  for (Point& point : points)
    point = {0.4 + 0.05 * static_cast<double>(rng.below(12)), std::exp2(17 + static_cast<double>(rng.below(5))),
             std::exp2(10 + static_cast<double>(rng.below(5)))};
  return points;
}

TEST(Hypervolume, IsTheUnionOfBoxes) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed, 0);
  for (int i = 0; i < 2000; ++i) {
    const std::vector<Point> points = random_points(rng);
    ASSERT_NEAR(hypervolume(points, reference), by_subsets(points), 1e-9) << i;
  }
}

TEST(Hypervolume, OfOnePointIsItsBox) {
  EXPECT_DOUBLE_EQ(hypervolume(std::vector{Point{0.75, 1e6 / std::numbers::e, 1e4 / std::numbers::e}}, reference),
                   0.25);
  EXPECT_EQ(hypervolume(std::vector{Point{0.5, 1e5, 1e3}}, reference), 0);
  EXPECT_EQ(hypervolume(std::vector{Point{0.9, 1e6, 1e3}}, reference), 0);
  EXPECT_EQ(hypervolume(std::vector<Point>{}, reference), 0);
}

TEST(ExpectedGain, OfAKnownAccuracyIsTheGrowth) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed, 1);
  for (int i = 0; i < 2000; ++i) {
    std::vector<Point> points = random_points(rng);
    if (points.empty()) continue;
    const Point last = points.back();
    points.pop_back();
    const double before = hypervolume(points, reference);
    const double gain = expected_gain(points, reference, last.macs, last.params, {last.accuracy, 0});
    points.push_back(last);
    ASSERT_NEAR(gain, hypervolume(points, reference) - before, 1e-9) << i;
  }
}

/// Against the midpoint rule over eight deviations to each side.
TEST(ExpectedGain, IsTheMeanOverTheBelief) {
  std::cout << "seed " << seed << '\n';
  Rng rng(seed, 2);
  for (int i = 0; i < 60; ++i) {
    const std::vector<Point> points = random_points(rng);
    const Belief belief{0.45 + 0.1 * static_cast<double>(rng.below(6)),
                        0.02 + 0.05 * static_cast<double>(rng.below(4))};
    const double macs = std::exp2(17.5), params = std::exp2(10 + static_cast<double>(rng.below(5)));
    constexpr int parts = 4000;
    constexpr double width = 16.0 / parts;
    double mean = 0;
    for (int part = 0; part < parts; ++part) {
      const double z = -8 + (part + 0.5) * width;
      const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
      mean += width * density * expected_gain(points, reference, macs, params, {belief.mean + z * belief.deviation, 0});
    }
    ASSERT_NEAR(expected_gain(points, reference, macs, params, belief), mean, 1e-5) << i;
  }
}

TEST(ExpectedGain, GrowsWithMeanAndDoubt) {
  const std::vector points{Point{0.8, 5e5, 5e3}};
  const auto gain = [&](double mean, double deviation) {
    return expected_gain(points, reference, 4e5, 6e3, {mean, deviation});
  };
  EXPECT_GT(gain(0.8, 0.01), gain(0.7, 0.01));
  EXPECT_GT(gain(0.45, 0.1), gain(0.45, 0.01));
  EXPECT_EQ(expected_gain(points, reference, 2e6, 1e3, {0.9, 0.1}), 0);
}

}  // namespace
}  // namespace kasimir::study
