// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/range.h"

#include <cmath>

namespace kasimir {
namespace {

constexpr int coarse = 64;  // ratios of the whole range that are tried before the best one's neighbourhood is
constexpr int fine = 20;    // golden sections: 0.618^20 of that neighbourhood

/// Clips both ends by one ratio. The error over the ratio has many small dents: first a grid, then golden sections
/// around its best point, and the best of all that was tried.
ValueRange estimate(std::span<const float> sorted, const IntegerFormat& format, const Quantizer& quantizer) {
  if (sorted.empty()) return {};
  const ValueRange whole{sorted.front(), sorted.back()};
  ValueRange best = whole;
  double least = -1;
  const auto error_at = [&](double ratio) {
    const ValueRange range{static_cast<float>(ratio * whole.low), static_cast<float>(ratio * whole.high)};
    const double error = quantization_error(sorted, quantizer, quantizer.fit(range, format), format);
    if (std::isfinite(error) && (least < 0 || error < least)) {
      least = error;
      best = range;
    }
    return error;
  };
  double at = 1;
  for (int i = coarse; i >= 1; --i) {
    const double before = least;
    error_at(static_cast<double>(i) / coarse);
    if (least != before) at = static_cast<double>(i) / coarse;
  }
  constexpr double golden = 0.6180339887498949;
  double low = at - 1.0 / coarse;
  double high = at + 1.0 / coarse;
  double left = high - golden * (high - low);
  double right = low + golden * (high - low);
  double error_left = error_at(left);
  double error_right = error_at(right);
  for (int i = 0; i < fine; ++i) {
    if (error_left <= error_right) {
      high = right;
      right = left;
      error_right = error_left;
      left = high - golden * (high - low);
      error_left = error_at(left);
    } else {
      low = left;
      left = right;
      error_left = error_right;
      right = low + golden * (high - low);
      error_right = error_at(right);
    }
  }
  return best;
}

}  // namespace

double quantization_error(std::span<const float> values, const Quantizer& quantizer, const QuantizerScale& scale,
                          const IntegerFormat& format) {
  double sum = 0;
  for (const float value : values) {
    const double off = static_cast<double>(quantizer.quantize(value, scale, format)) - value;
    sum += off * off;
  }
  return values.empty() ? 0 : sum / static_cast<double>(values.size());
}

extern const RangeEstimator mse_estimator;
const RangeEstimator mse_estimator{
    .name = "mse",
    .brief = "the clipping with the least mean squared error",
    .source = "Choukroun et al., Low-bit quantization for efficient inference, arXiv 1902.06822, section 3.1",
    .estimate = estimate,
};

}  // namespace kasimir
