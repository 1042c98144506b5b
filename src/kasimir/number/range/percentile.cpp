// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/range.h"

#include "kasimir/base/error.h"

#include <cmath>

namespace kasimir {
namespace {

// One of the percentiles that Wu et al. try: a value in ten thousand is cut off at either end.
constexpr double usual_share = 0.9999;

ValueRange estimate(std::span<const float> sorted, const IntegerFormat& /*format*/, const Quantizer& /*quantizer*/) {
  return percentile_range(sorted, usual_share);
}

}  // namespace

ValueRange percentile_range(std::span<const float> sorted, double share) {
  KASIMIR_CHECK(share > 0.5 && share <= 1, "a range of the share {}", share);
  if (sorted.empty()) return {};
  const auto count = static_cast<double>(sorted.size());
  const auto cut = static_cast<std::size_t>(std::floor((1 - share) * count + 1e-9));
  return {sorted[cut], sorted[sorted.size() - 1 - cut]};
}

extern const RangeEstimator percentile_estimator;
const RangeEstimator percentile_estimator{
    .name = "percentile",
    .brief = "all but one value in 10,000 at either end",
    .source = "Wu et al., arXiv 2004.09602, section 3.3",
    .estimate = estimate,
};

}  // namespace kasimir
