// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/hypervolume.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>
#include <numbers>
#include <vector>

namespace kasimir::study {
namespace {

/// The two costs as they count: small is good.
struct Costs {
  double macs, params;
};

Costs costs_of(double macs, double params) {
  KASIMIR_CHECK(macs > 0 && params > 0, "{} MACs and {} parameters", macs, params);
  return {std::log(macs), std::log(params)};
}

/// The area that lies between a corner and the reference and is covered by none of a growing set.
class FreeArea {
 public:
  FreeArea(const Costs& corner, const Costs& reference) : corner_(corner), reference_(reference) {
    if (corner.macs < reference.macs && corner.params < reference.params)
      area_ = (reference.macs - corner.macs) * (reference.params - corner.params);
  }
  [[nodiscard]] double area() const { return area_; }

  /// The rectangle from these costs to the reference is covered.
  void cover(Costs costs) {
    costs = {std::max(costs.macs, corner_.macs), std::max(costs.params, corner_.params)};
    if (costs.macs >= reference_.macs || costs.params >= reference_.params) return;
    // steps_ goes up in MACs and down in parameters.
    const auto dominated = [&](const Costs& step) { return step.macs <= costs.macs && step.params <= costs.params; };
    if (std::ranges::any_of(steps_, dominated)) return;
    std::erase_if(steps_, [&](const Costs& step) { return step.macs >= costs.macs && step.params >= costs.params; });
    steps_.insert(std::ranges::lower_bound(steps_, costs.macs, {}, &Costs::macs), costs);
    area_ = (reference_.macs - corner_.macs) * (reference_.params - corner_.params);
    double height = reference_.params;
    for (const Costs& step : steps_) {
      area_ -= (reference_.macs - step.macs) * (height - step.params);
      height = step.params;
    }
  }

 private:
  Costs corner_, reference_;
  std::vector<Costs> steps_;
  double area_ = 0;
};

/// The mean of how far the accuracy is above `bar`, 0 where it is below.
double mean_above(const Belief& accuracy, double bar) {
  const double gap = accuracy.mean - bar;
  if (accuracy.deviation <= 0) return std::max(gap, 0.0);
  const double z = gap / accuracy.deviation;
  const double density = std::exp(-0.5 * z * z) / std::sqrt(2 * std::numbers::pi);
  return std::max(0.0, accuracy.deviation * density + gap * 0.5 * std::erfc(-z / std::numbers::sqrt2));
}

}  // namespace

double expected_gain(std::span<const Point> points, const Point& reference, double macs, double params,
                     const Belief& accuracy) {
  FreeArea free(costs_of(macs, params), costs_of(reference.macs, reference.params));
  if (free.area() <= 0) return 0;
  std::vector<Point> falling(points.begin(), points.end());
  std::ranges::stable_sort(falling, std::ranges::greater{}, &Point::accuracy);
  double gain = 0;
  double above = 0;  // mean_above() the accuracy that was reached
  for (const Point& point : falling) {
    if (point.accuracy <= reference.accuracy) break;
    const double next = mean_above(accuracy, point.accuracy);
    gain += free.area() * (next - above);
    above = next;
    free.cover(costs_of(point.macs, point.params));
  }
  return gain + free.area() * (mean_above(accuracy, reference.accuracy) - above);
}

double hypervolume(std::span<const Point> points, const Point& reference) {
  double volume = 0;
  for (std::size_t i = 0; i < points.size(); ++i)
    volume += expected_gain(points.first(i), reference, points[i].macs, points[i].params, {points[i].accuracy, 0});
  return volume;
}

}  // namespace kasimir::study
