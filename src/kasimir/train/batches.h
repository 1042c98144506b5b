// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/image_set.h"
#include "kasimir/data/split.h"
#include "kasimir/train/torch.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kasimir {

/// How training images are varied.
struct Augmentation {
  int crop_padding = 0;    ///< moved by up to so many pixels along both axes, black outside
  bool flip = false;       ///< half of them are mirrored
  std::uint64_t seed = 0;  ///< with the image's index it decides both
};

/// Images as floating-point tensors.
class Batcher {
 public:
  Batcher(const ImageSet& images, const ChannelStatistics& normalisation);

  /// [n, c, h, w] in channels-last memory.
  [[nodiscard]] at::Tensor images(std::span<const std::int32_t> indices, const Augmentation& augmentation = {}) const;
  [[nodiscard]] at::Tensor labels(std::span<const std::int32_t> indices) const;

 private:
  void write(std::int32_t index, int down, int right, bool mirrored, float* to) const;

  const ImageSet& images_;
  std::vector<std::array<float, 256>> values_;  ///< by channel and pixel value
};

}  // namespace kasimir
