// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kasimir {

/// Images of one size in memory, each with the number of its class.
struct ImageSet {
  int channels = 0;  ///< 1 (grey) or 3 (red, green, blue)
  int height = 0;
  int width = 0;
  std::vector<std::uint8_t> pixels;  ///< [image, channel, row, column], 0..255
  std::vector<std::int32_t> labels;  ///< [image], 0 .. classes - 1

  [[nodiscard]] std::int64_t size() const { return static_cast<std::int64_t>(labels.size()); }
  /// Bytes, and so elements, of one image.
  [[nodiscard]] std::size_t image_bytes() const {
    return static_cast<std::size_t>(channels) * static_cast<std::size_t>(height) * static_cast<std::size_t>(width);
  }
  /// [channel, row, column] of image `index`, which must be below size().
  [[nodiscard]] std::span<const std::uint8_t> image(std::int64_t index) const {
    return std::span(pixels).subspan(static_cast<std::size_t>(index) * image_bytes(), image_bytes());
  }
  bool operator==(const ImageSet&) const = default;
};

}  // namespace kasimir
