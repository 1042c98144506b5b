// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/quantizer.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

/// The range, widened to contain zero, in as many steps as there are codes but one; the zero point is rounded to a
/// code.
QuantizerScale fit(const ValueRange& range, const IntegerFormat& format) {
  const float low = std::min(range.low, 0.0F);
  const float high = std::max(range.high, 0.0F);
  const int steps = format.highest() - format.lowest();
  // Halves: the difference of the ends may be beyond the largest float.
  const float step = usable_step(2 * ((high / 2 - low / 2) / static_cast<float>(steps)));
  const int zero = format.lowest() - static_cast<int>(std::nearbyint(low / step));
  return {step, std::clamp(zero, format.lowest(), format.highest()), 0};
}

}  // namespace

extern const Quantizer affine_quantizer;
const Quantizer affine_quantizer{
    .name = "affine",
    .brief = "zero is a code between the ends",
    .source = "Jacob et al., Quantization and training of neural networks, arXiv 1712.05877, section 2.1",
    .fit = fit,
    .quantize = quantize_by_codes,
};

}  // namespace kasimir
