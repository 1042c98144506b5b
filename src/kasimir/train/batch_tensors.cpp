// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/batch_tensors.h"

#include <algorithm>

namespace kasimir {

at::Tensor image_tensor(const Batcher& batcher, std::span<const std::int32_t> indices,
                        const Augmentation& augmentation) {
  const ImageSet& images = batcher.images();
  at::Tensor batch =
      at::empty({static_cast<std::int64_t>(indices.size()), images.height, images.width, images.channels}, at::kFloat);
  batcher.write(indices, augmentation, {batch.data_ptr<float>(), static_cast<std::size_t>(batch.numel())});
  return batch.permute({0, 3, 1, 2});
}

at::Tensor label_tensor(const Batcher& batcher, std::span<const std::int32_t> indices) {
  const auto labels = batcher.labels(indices);
  at::Tensor tensor = at::empty({static_cast<std::int64_t>(labels.size())}, at::kLong);
  std::ranges::copy(labels, tensor.data_ptr<std::int64_t>());
  return tensor;
}

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().to(at::kCPU).contiguous();
  return {plain.data_ptr<float>(), plain.data_ptr<float>() + plain.numel()};
}

}  // namespace kasimir
