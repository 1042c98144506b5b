// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/network_module.h"
#include "kasimir/train/trainer.h"

namespace kasimir {

/// From now on the model's kernels are trained as `how` says, on batches of that size. Compiled C is compared with ATen
/// first, values and gradients, on random numbers. Kernels alike at sites alike are compiled once.
/// `automatic` compiles nothing for a training of fewer than `fewest_steps` steps.
FusedUse fuse_kernels(Model::Impl& model, std::int64_t batch, KernelTraining how, std::int64_t steps);

/// Below that, compiling takes longer than it saves. A judgement (docs/native.md has times of both).
constexpr std::int64_t fewest_steps = 100;

}  // namespace kasimir
