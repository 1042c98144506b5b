// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kasimir {

/// Scales planes of one size to another with a triangle filter as wide as one source or one target pixel, whichever is
/// wider: bilinear when it enlarges, an average over the area when it shrinks. Pixel centres at half-integers.
class Resizer {
 public:
  /// All extents at least 1.
  Resizer(ImageSize from, ImageSize to);

  /// `source` has from.height x from.width elements, `target` to.height x to.width.
  void apply(std::span<const std::uint8_t> source, std::span<std::uint8_t> target) const;

 private:
  /// One target position as a weighted sum of source positions first, first + 1, ..; the weights add to 1.
  struct Tap {
    std::size_t first = 0;
    std::vector<double> weights;
  };
  static std::vector<Tap> taps(int from, int to);

  ImageSize from_;
  ImageSize to_;
  std::vector<Tap> rows_;
  std::vector<Tap> columns_;
};

}  // namespace kasimir
