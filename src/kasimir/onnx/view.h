// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/network/layer.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kasimir {

/// A part of an axis of a feature map, as of a mixed-radix number: coordinate / step % extent.
struct MapDigit {
  enum class Of : std::uint8_t { channel, height, width };
  Of of = Of::channel;
  std::int64_t extent = 1;
  std::int64_t step = 1;
  bool operator==(const MapDigit&) const = default;
};

/// An axis of an array over a feature map: digits, most significant first; none where the extent is 1.
using ViewAxis = std::vector<MapDigit>;

std::int64_t extent(const ViewAxis& axis);

/// The feature map of one image seen as an array of any rank, without the batch. Reshapes and transposes of arrays
/// change the view and leave the map as it is: [h*w, c] and [groups, c / groups, h, w] are views of [c, h, w].
struct MapView {
  std::vector<ViewAxis> axes;

  /// [c, h, w] of a map of this shape.
  static MapView of(Shape3 shape);
  [[nodiscard]] std::vector<std::int64_t> shape() const;
  [[nodiscard]] std::int64_t elements() const;
  /// The same elements in the same order in other axes; nothing where these would cut a digit unevenly or the elements
  /// are not as many.
  [[nodiscard]] std::optional<MapView> reshaped(const std::vector<std::int64_t>& shape) const;
  /// For every element in the view's order, its place in the map [c, h, w], row-major.
  [[nodiscard]] std::vector<std::int64_t> order(Shape3 shape) const;
  bool operator==(const MapView&) const = default;
};

/// The places of a map, row by row.
ViewAxis places_of(Shape3 shape);
/// One axis of a map as a view has it.
ViewAxis whole_axis(MapDigit::Of of, std::int64_t extent);

}  // namespace kasimir
