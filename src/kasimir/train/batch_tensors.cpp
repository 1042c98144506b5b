// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/batch_tensors.h"

#include <ATen/ops/mse_loss.h>

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

at::Tensor target_tensor(const Batcher& batcher, std::span<const std::int32_t> indices) {
  if (batcher.images().values.empty()) return label_tensor(batcher, indices);
  const auto values = batcher.values(indices);
  const auto images = static_cast<std::int64_t>(indices.size());
  at::Tensor tensor = at::empty({images, static_cast<std::int64_t>(values.size()) / images}, at::kFloat);
  std::ranges::copy(values, tensor.data_ptr<float>());
  return tensor;
}

at::Tensor mean_loss(const at::Tensor& scores, const at::Tensor& targets, double label_smoothing) {
  if (targets.is_floating_point()) return at::mse_loss(scores, targets);
  return at::cross_entropy_loss(scores, targets, {}, at::Reduction::Mean, -100, label_smoothing);
}

double summed_loss(const at::Tensor& scores, const at::Tensor& targets) {
  if (targets.is_floating_point())
    return at::mse_loss(scores, targets).item<double>() * static_cast<double>(targets.size(0));
  return at::cross_entropy_loss(scores, targets, {}, at::Reduction::Sum).item<double>();
}

double right_in(const at::Tensor& scores, const at::Tensor& targets) {
  if (!targets.is_floating_point()) return at::argmax(scores.detach(), 1).eq(targets).sum().item<double>();
  const double error = at::mse_loss(scores.detach(), targets).item<double>();
  return static_cast<double>(targets.size(0)) * (1 - error);
}

std::vector<float> floats_of(const at::Tensor& tensor) {
  const at::Tensor plain = tensor.detach().to(at::kCPU).contiguous();
  return {plain.data_ptr<float>(), plain.data_ptr<float>() + plain.numel()};
}

}  // namespace kasimir
