// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/number/format.h"
#include "kasimir/train/torch.h"

#include <vector>

namespace kasimir {

/// A tensor as the mixture of its quantisations at several bit widths,
///
///     sum over j of mix[j] * s_j * clamp(round(x / s_j), lowest_j, highest_j),   s_j = exp(log_steps[j]),
///
/// ties to even, not a number stays one. Formats with mix[j] = 0 are not computed. Saves x, the steps and the mixture
/// only, whatever the number of formats: the backward pass computes the codes again.
///
/// Gradients: straight through the rounding within the range; for steps those of learned step size quantisation (Esser
/// et al., arXiv 1902.08153) with its factor 1 / sqrt(n * highest), n the values of one image that share a step (of the
/// whole tensor where `per_image` is false); for the mixture the products with the quantised tensors of all formats,
/// those with mix[j] = 0 too.
///
/// `x` is float32 or float64. Each of `log_steps` broadcasts to x (one number, or one per leading slice). `mix` has one
/// number per format, or is undefined where there is one format: 1.
at::Tensor quantize_and_mix(const at::Tensor& x, const std::vector<at::Tensor>& log_steps, const at::Tensor& mix,
                            const std::vector<IntegerFormat>& formats, bool per_image);

}  // namespace kasimir
