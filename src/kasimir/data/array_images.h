// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/array_store.h"
#include "kasimir/data/image_set.h"

#include <memory>
#include <string>
#include <vector>

namespace kasimir {

/// How an array holds images.
struct ArrayLayout {
  std::int64_t images = 0;
  int channels = 1;
  int height = 0;
  int width = 0;
  bool channels_last = false;

  [[nodiscard]] std::int64_t image_elements() const { return std::int64_t{channels} * height * width; }
  /// Where the element [channel, place] of an image lies among its elements.
  [[nodiscard]] std::int64_t from(std::int64_t channel, std::int64_t place) const {
    return channels_last ? place * channels + channel : channel * height * width + place;
  }
};

/// @throws Error (input) for a shape that cannot be one of images.
ArrayLayout image_layout(const NpyHeader& header, const std::string& title);

/// Brings numbers to 0..255.
struct PixelScale {
  double low = 0;
  double factor = 1;
  std::string text;  ///< for the description; empty where nothing is changed

  [[nodiscard]] std::uint8_t pixel(double value) const;
};
/// By the range of the finite numbers in an array.
PixelScale pixel_scale(const NpyArray& array);

/// An image set without labels. `damaged` gets the indices of images that hold a number that is not finite.
ImageSet images_of(const NpyArray& array, const ArrayLayout& layout, const PixelScale& scale,
                   std::vector<std::int32_t>& damaged);

/// Images of bytes that stay in their file; `chosen` are those that count, in order.
std::shared_ptr<const ImageStream> array_stream(const ArrayStore::Raw& raw, const ArrayLayout& layout,
                                                std::vector<std::int32_t> chosen, int threads);

}  // namespace kasimir
