// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/image_set.h"
#include "kasimir/data/split.h"

#include <array>
#include <cstdint>
#include <span>
#include <vector>

namespace kasimir {

/// Below this a channel counts as constant, and its deviation as this: dividing by less would blow up rounding.
constexpr double smallest_deviation = 1e-3;

/// How training images are varied.
struct Augmentation {
  int crop_padding = 0;    ///< moved by up to so many pixels along both axes, black outside
  bool flip = false;       ///< half of them are mirrored
  std::uint64_t seed = 0;  ///< with the image's index it decides both
};

/// Images as normalised numbers: what a library's data loader does, without its per-image cost.
class Batcher {
 public:
  /// `images` outlives the batcher.
  Batcher(const ImageSet& images, const ChannelStatistics& normalisation);

  /// Decodes the images first if they are streamed. Fills `to`, of indices.size() * image_bytes() numbers, as
  /// [image][row][column][channel]: channels-last memory.
  void write(std::span<const std::int32_t> indices, const Augmentation& augmentation, std::span<float> to) const;
  [[nodiscard]] std::vector<std::int64_t> labels(std::span<const std::int32_t> indices) const;
  /// [image][value], where the targets are values.
  [[nodiscard]] std::vector<float> values(std::span<const std::int32_t> indices) const;
  [[nodiscard]] const ImageSet& images() const { return images_; }

 private:
  void write(std::span<const std::uint8_t> pixels, int down, int right, bool mirrored, float* to) const;

  const ImageSet& images_;
  std::vector<std::array<float, 256>> values_;  ///< by channel and pixel value
};

}  // namespace kasimir
