// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/straight_through.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>

namespace kasimir {

double quantize_by_step(double x, double step, const IntegerFormat& format) {
  if (std::isnan(x)) return x;
  const double lowest = format.lowest();
  const double highest = format.highest();
  return step * std::clamp(std::nearbyint(x / step), lowest, highest);
}

StraightThrough straight_through(double x, double step, const IntegerFormat& format) {
  const double v = x / step;
  if (v < format.lowest()) return {0, static_cast<double>(format.lowest())};
  if (v > format.highest()) return {0, static_cast<double>(format.highest())};
  return {1, std::nearbyint(v) - v};
}

double learned_step_start(std::span<const float> values, const IntegerFormat& format) {
  if (values.empty()) return 0;
  double sum = 0;
  for (const float value : values) sum += std::abs(static_cast<double>(value));
  return 2 * sum / static_cast<double>(values.size()) / std::sqrt(static_cast<double>(format.highest()));
}

double learned_step_gradient_scale(std::int64_t count, const IntegerFormat& format) {
  KASIMIR_CHECK(count > 0, "a step of {} values", count);
  return 1 / std::sqrt(static_cast<double>(count) * format.highest());
}

double quantize_and_mix(double x, std::span<const MixturePart> parts) {
  double sum = 0;
  for (const MixturePart& part : parts) sum += part.weight * quantize_by_step(x, part.step, part.format);
  return sum;
}

MixtureGradients mixture_gradients(double x, std::span<const MixturePart> parts) {
  MixtureGradients gradients;
  for (const MixturePart& part : parts) {
    const StraightThrough of = straight_through(x, part.step, part.format);
    gradients.by_value += part.weight * of.by_value;
    gradients.by_step.push_back(part.weight * of.by_step);
    gradients.by_weight.push_back(quantize_by_step(x, part.step, part.format));
  }
  return gradients;
}

}  // namespace kasimir
