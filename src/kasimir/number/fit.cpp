// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/fit.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

void require_finite(std::string_view where, std::span<const float> values) {
  const auto is_odd = [](float value) { return !std::isfinite(value); };
  const auto odd = std::ranges::count_if(values, is_odd);
  if (odd == 0) return;
  const auto first = std::ranges::find_if(values, is_odd);
  throw input_error("{}: {} of {} values are not finite, the first is {} at place {}", where, odd, values.size(),
                    *first, first - values.begin());
}

std::span<const float> slice(std::span<const float> values, std::size_t slices, std::size_t index) {
  KASIMIR_CHECK(slices > 0 && values.size() % slices == 0, "{} values in {} slices", values.size(), slices);
  const std::size_t length = values.size() / slices;
  return values.subspan(index * length, length);
}

}  // namespace

std::vector<QuantizerScale> fit_scales(std::string_view where, std::span<const float> values, std::int64_t slices,
                                       const Quantizer& quantizer, const RangeEstimator& estimator,
                                       const IntegerFormat& format) {
  require_legal(format, std::string(where));
  require_finite(where, values);
  std::vector<QuantizerScale> scales;
  for (std::int64_t i = 0; i < slices; ++i) {
    const auto part = slice(values, static_cast<std::size_t>(slices), static_cast<std::size_t>(i));
    std::vector<float> sorted(part.begin(), part.end());
    std::ranges::sort(sorted);
    scales.push_back(quantizer.fit(estimator.estimate(sorted, format, quantizer), format));
  }
  return scales;
}

std::vector<std::int32_t> encode_all(std::string_view where, std::span<const float> values,
                                     std::span<const QuantizerScale> scales, const IntegerFormat& format) {
  require_finite(where, values);
  std::vector<std::int32_t> codes;
  codes.reserve(values.size());
  for (std::size_t i = 0; i < scales.size(); ++i)
    for (const float value : slice(values, scales.size(), i)) codes.push_back(encode(value, scales[i], format));
  return codes;
}

}  // namespace kasimir
