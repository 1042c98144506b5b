// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/image_set.h"

#include <cstdint>
#include <span>
#include <string>

namespace kasimir {

/// A hash over a sequence of bytes and numbers; it tells contents apart and protects from nobody.
class DataFingerprint {
 public:
  void number(std::uint64_t value);
  void bytes(std::span<const std::uint8_t> data);
  void text(const std::string& value);
  /// Extents, pixels as one sequence, labels.
  void whole_images(const ImageSet& set);
  /// Extents, the hash of each image, labels and other targets: the same whether the images are streamed or not.
  void each_image(const ImageSet& set);
  [[nodiscard]] std::uint64_t value() const { return state_; }
  [[nodiscard]] std::string str() const;

 private:
  void extents(const ImageSet& set);

  std::uint64_t state_ = 0;
};

/// Of the pixels of one image.
std::uint64_t pixel_hash(std::span<const std::uint8_t> pixels);

}  // namespace kasimir
