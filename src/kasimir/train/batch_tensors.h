// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/batches.h"
#include "kasimir/train/torch.h"

namespace kasimir {

/// [n, c, h, w] in channels-last memory.
at::Tensor image_tensor(const Batcher& batcher, std::span<const std::int32_t> indices,
                        const Augmentation& augmentation = {});
/// The elements row-major, wherever the tensor lies.
std::vector<float> floats_of(const at::Tensor& tensor);
at::Tensor label_tensor(const Batcher& batcher, std::span<const std::int32_t> indices);

}  // namespace kasimir
