// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/range.h"
#include "kasimir/number/straight_through.h"

namespace kasimir {
namespace {

ValueRange estimate(std::span<const float> sorted, const IntegerFormat& format, const Quantizer& /*quantizer*/) {
  const auto step = static_cast<float>(learned_step_start(sorted, format));
  return {step * static_cast<float>(format.lowest()), step * static_cast<float>(format.highest())};
}

}  // namespace

extern const RangeEstimator learned_estimator;
const RangeEstimator learned_estimator{
    .name = "learned",
    .brief = "where the learning of the step starts",
    .source = "Esser et al., Learned step size quantization, arXiv 1902.08153, section 2.1",
    .estimate = estimate,
};

}  // namespace kasimir
