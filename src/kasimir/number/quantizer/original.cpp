// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/quantizer.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

float levels(const IntegerFormat& format) { return std::ldexp(1.0F, format.bits); }

/// As published: 2^bits in place of the 2^bits - 1 steps between so many codes, so that the top of the range has no
/// code; the low end is exact in place of zero; a range without extent divides by zero.
QuantizerScale fit(const ValueRange& range, const IntegerFormat& format) {
  return {(range.high - range.low) / levels(format), 0, range.low};
}

float quantize(float value, const QuantizerScale& scale, const IntegerFormat& format) {
  const float code = std::nearbyint((value - scale.offset) / scale.step);
  return std::clamp(code, 0.0F, levels(format) - 1) * scale.step + scale.offset;
}

}  // namespace

extern const Quantizer original_quantizer;
const Quantizer original_quantizer{
    .name = "original",
    .brief = "asymmetric codes from 0, as Auto-NBA's code computes them, with its faults",
    .source = "the published code of Auto-NBA (arXiv 2106.06575)",
    .lawful = false,
    .fit = fit,
    .quantize = quantize,
};

}  // namespace kasimir
