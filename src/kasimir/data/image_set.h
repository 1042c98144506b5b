// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

namespace kasimir {

/// Images that stay encoded on disk and are decoded when they are asked for.
class ImageStream {
 public:
  virtual ~ImageStream() = default;
  /// The images at `indices`, one after the other as in ImageSet::pixels; decoded by several threads.
  /// @throws Error (input) for a file that has changed or gone since it was looked through.
  virtual void read(std::span<const std::int32_t> indices, std::span<std::uint8_t> to) const = 0;
  /// Of image `index`: for each channel the sum of its pixels, then the sum of their squares.
  [[nodiscard]] virtual std::span<const std::uint64_t> sums(std::int64_t index) const = 0;
  /// Of the pixels of image `index`, as pixel_hash().
  [[nodiscard]] virtual std::uint64_t hash(std::int64_t index) const = 0;
};

/// Images of one size, each with the number of its class or another target.
struct ImageSet {
  int channels = 0;  ///< 1 (grey), 3 (red, green, blue), or as an array has
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> pixels;      ///< [image, channel, row, column], 0..255; empty where the images are streamed
  std::vector<std::int32_t> labels;      ///< [image], 0 .. classes - 1; all 0 where the targets are others
  std::vector<float> values = {};        ///< [image, value]: numbers to predict, brought to mean 0 and deviation 1
  std::vector<std::uint8_t> masks = {};  ///< [image, row, column]: the class of each pixel
  std::shared_ptr<const ImageStream> stream = nullptr;  ///< where the images are, if they are not in `pixels`

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  /// Bytes, and so elements, of one image.
  [[nodiscard]] std::size_t image_bytes() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  }
  /// [channel, row, column] of image `index`, which must be below size(); only where the images are in memory.
  [[nodiscard]] std::span<const std::uint8_t> image(std::int64_t index) const {
    return std::span(pixels).subspan(static_cast<std::size_t>(index) * image_bytes(), image_bytes());
  }
  bool operator==(const ImageSet&) const = default;
};

}  // namespace kasimir
