// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/range.h"

namespace kasimir {
namespace {

ValueRange estimate(std::span<const float> sorted, const IntegerFormat& /*format*/, const Quantizer& /*quantizer*/) {
  return sorted.empty() ? ValueRange{} : ValueRange{sorted.front(), sorted.back()};
}

}  // namespace

extern const RangeEstimator min_max_estimator;
const RangeEstimator min_max_estimator{
    .name = "min_max",
    .brief = "all values",
    .source = "Jacob et al., arXiv 1712.05877, section 3",
    .estimate = estimate,
};

}  // namespace kasimir
