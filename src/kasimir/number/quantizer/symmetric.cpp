// SPDX-License-Identifier: Apache-2.0
#include "kasimir/number/quantizer.h"

#include <algorithm>

namespace kasimir {
namespace {

/// The least step whose codes reach both ends; an unsigned format has no codes below zero.
QuantizerScale fit(const ValueRange& range, const IntegerFormat& format) {
  float step = range.high / static_cast<float>(format.highest());
  if (format.lowest() < 0) step = std::max(step, range.low / static_cast<float>(format.lowest()));
  return {usable_step(step), 0, 0};
}

}  // namespace

extern const Quantizer symmetric_quantizer;
const Quantizer symmetric_quantizer{
    .name = "symmetric",
    .brief = "zero is code 0",
    .source = "Wu et al., Integer quantization for deep learning inference, arXiv 2004.09602, section 3.1.2",
    .fit = fit,
    .quantize = quantize_by_codes,
};

}  // namespace kasimir
