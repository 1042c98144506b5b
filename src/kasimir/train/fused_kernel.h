// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/training_kernel.h"
#include "kasimir/train/torch.h"

#include <memory>
#include <vector>

namespace kasimir {

/// What a fused kernel computes of one batch.
struct FusedResult {
  at::Tensor output;                   ///< [n, co, h, w], channels last
  std::vector<at::Tensor> statistics;  ///< of the batch, in the order of the graph's stages
};

/// Runs a compiled kernel as one operation that autograd differentiates. `input` is [n, ci, s*h, s*w] in float32 on the
/// processor; `weights` are in the order of TrainingKernel::weights.
FusedResult run_fused(const std::shared_ptr<TrainingKernel>& kernel, const at::Tensor& input,
                      const std::vector<at::Tensor>& weights);

}  // namespace kasimir
