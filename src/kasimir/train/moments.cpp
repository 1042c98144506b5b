// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/moments.h"

#include "kasimir/train/batch_tensors.h"
#include "kasimir/train/dictionary.h"
#include "kasimir/train/network_module.h"

#include <ATen/TensorOperators.h>

#include <algorithm>

namespace kasimir {

std::map<int, ChannelMoments> channel_moments(Model& model, std::span<const int> layers, const ImageSet& images,
                                              std::span<const std::int32_t> indices) {
  KASIMIR_CHECK(!indices.empty(), "moments over none of {} images", images.size());
  constexpr std::size_t batch = 64;
  const at::NoGradGuard fixed;
  const Batcher batcher(images, model.normalisation());
  std::map<int, std::pair<at::Tensor, at::Tensor>> sums;
  std::map<int, std::int64_t> counts;
  for (std::size_t from = 0; from < indices.size(); from += batch) {
    const auto part = indices.subspan(from, std::min(batch, indices.size() - from));
    std::map<int, at::Tensor> results;
    for (const int layer : layers) results[layer] = at::Tensor();
    (void)model.impl().forward(image_tensor(batcher, part).to(model.impl().device()), false, &results);
    for (const auto& [layer, result] : results) {
      const at::Tensor values = result.to(at::kDouble);
      auto& [sum, squares] = sums[layer];
      const at::Tensor one = values.sum({0, 2, 3}).cpu();
      const at::Tensor two = values.square().sum({0, 2, 3}).cpu();
      sum = sum.defined() ? sum + one : one;
      squares = squares.defined() ? squares + two : two;
      counts[layer] += result.numel() / result.size(1);
    }
  }
  std::map<int, ChannelMoments> moments;
  for (const auto& [layer, both] : sums) {
    const at::Tensor mean = both.first / counts.at(layer);
    const at::Tensor variance = (both.second / counts.at(layer) - mean.square()).clamp_min(0);
    moments[layer] = {to_values(mean), to_values(variance)};
  }
  return moments;
}

std::map<std::string, std::vector<std::int64_t>> saved_shapes(const std::filesystem::path& path) {
  std::map<std::string, std::vector<std::int64_t>> shapes;
  for (const auto& entry : read_dictionary(path, "a saved model")) shapes[entry.key()] = entry.value().sizes().vec();
  return shapes;
}

}  // namespace kasimir
