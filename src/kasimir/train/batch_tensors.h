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
/// What is to be learned of the images: labels [n], or values [n, value].
at::Tensor target_tensor(const Batcher& batcher, std::span<const std::int32_t> indices);

/// The mean over a batch: cross entropy of labels, squared error of values.
at::Tensor mean_loss(const at::Tensor& scores, const at::Tensor& targets, double label_smoothing = 0);
/// The same, summed over the images of the batch.
double summed_loss(const at::Tensor& scores, const at::Tensor& targets);
/// Labels that are right; of values, images times the share of their variance that is explained, where 1 is the
/// variance to which the training part was brought (Dataset::scales).
double right_in(const at::Tensor& scores, const at::Tensor& targets);

}  // namespace kasimir
