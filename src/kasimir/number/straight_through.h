// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/number/format.h"

#include <cstdint>
#include <span>
#include <vector>

/// Quantisation with a learned step (Esser et al., arXiv 1902.08153) as plain functions, and mixtures over bit widths.
/// Rounding is passed straight through: its derivative counts as 1, so that these are the derivatives of the function
/// in which round(v) is replaced by v plus what the rounding adds at this point.
namespace kasimir {

/// step * clamp(round(x / step), lowest, highest), ties to even; what is not a number stays so.
double quantize_by_step(double x, double step, const IntegerFormat& format);

struct StraightThrough {
  double by_value = 0;  ///< 1 where the codes reach x, else 0
  double by_step = 0;   ///< round(x / step) - x / step there, else the code at the end
};
/// Derivatives of quantize_by_step.
StraightThrough straight_through(double x, double step, const IntegerFormat& format);

/// Where learning starts: 2 * mean |x| / sqrt(highest code); 0 for no values and for zeros. The order does not matter
/// if `values` is sorted.
double learned_step_start(std::span<const float> values, const IntegerFormat& format);

/// What multiplies a step's gradient, so that it moves as fast as the values: 1 / sqrt(count * highest code), `count`
/// being the values that share the step.
double learned_step_gradient_scale(std::int64_t count, const IntegerFormat& format);

/// One bit width of a mixture.
struct MixturePart {
  IntegerFormat format;
  double step = 1;
  double weight = 0;
};
/// Sum of weight * quantize_by_step(x).
double quantize_and_mix(double x, std::span<const MixturePart> parts);

struct MixtureGradients {
  double by_value = 0;
  std::vector<double> by_step;    ///< one per part
  std::vector<double> by_weight;  ///< also for parts of weight 0
};
/// Derivatives of quantize_and_mix.
MixtureGradients mixture_gradients(double x, std::span<const MixturePart> parts);

}  // namespace kasimir
