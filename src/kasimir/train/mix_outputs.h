// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/torch.h"

#include <vector>

namespace kasimir {

/// sum over k of weights[k] * outputs[k]. Outputs of weight 0 do not enter the sum, whatever they hold. The gradient by
/// weights[k] is the inner product of the result's gradient with outputs[k], of weight 0 too; outputs of weight 0 get
/// no gradient. `weights` has one number per output, not all 0, and lies in main memory; with a 1 all others are 0.
at::Tensor mix_outputs(const std::vector<at::Tensor>& outputs, const at::Tensor& weights);

}  // namespace kasimir
