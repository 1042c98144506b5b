// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/view.h"

#include <algorithm>
#include <utility>

namespace kasimir {
namespace {

/// Digits of one map axis that are read one after another as one digit.
ViewAxis joined(const ViewAxis& axis) {
  ViewAxis result;
  for (const MapDigit& digit : axis) {
    if (!result.empty() && result.back().of == digit.of && result.back().step == digit.step * digit.extent) {
      result.back().extent *= digit.extent;
      result.back().step = digit.step;
    } else {
      result.push_back(digit);
    }
  }
  return result;
}

}  // namespace

std::int64_t extent(const ViewAxis& axis) {
  std::int64_t product = 1;
  for (const MapDigit& digit : axis) product *= digit.extent;
  return product;
}

ViewAxis whole_axis(MapDigit::Of of, std::int64_t extent) {
  return extent == 1 ? ViewAxis{} : ViewAxis{{of, extent, 1}};
}

ViewAxis places_of(Shape3 shape) {
  ViewAxis places = whole_axis(MapDigit::Of::height, shape.h);
  for (const MapDigit& digit : whole_axis(MapDigit::Of::width, shape.w)) places.push_back(digit);
  return places;
}

MapView MapView::of(Shape3 shape) {
  return {{whole_axis(MapDigit::Of::channel, shape.c), whole_axis(MapDigit::Of::height, shape.h),
           whole_axis(MapDigit::Of::width, shape.w)}};
}

std::vector<std::int64_t> MapView::shape() const {
  std::vector<std::int64_t> result;
  for (const ViewAxis& axis : axes) result.push_back(extent(axis));
  return result;
}

std::int64_t MapView::elements() const {
  std::int64_t product = 1;
  for (const ViewAxis& axis : axes) product *= extent(axis);
  return product;
}

std::optional<MapView> MapView::reshaped(const std::vector<std::int64_t>& shape) const {
  ViewAxis rest;
  for (const ViewAxis& axis : axes) rest.insert(rest.end(), axis.begin(), axis.end());
  std::reverse(rest.begin(), rest.end());
  MapView result;
  for (const std::int64_t wanted : shape) {
    ViewAxis axis;
    std::int64_t open = wanted;
    while (open > 1) {
      if (rest.empty()) return std::nullopt;
      MapDigit& digit = rest.back();
      if (open % digit.extent == 0) {
        open /= digit.extent;
        axis.push_back(digit);
        rest.pop_back();
      } else if (digit.extent % open == 0) {
        digit.extent /= open;
        axis.push_back({digit.of, open, digit.step * digit.extent});
        open = 1;
      } else {
        return std::nullopt;
      }
    }
    if (open != 1) return std::nullopt;
    result.axes.push_back(joined(axis));
  }
  if (!rest.empty()) return std::nullopt;
  return result;
}

std::vector<std::int64_t> MapView::order(Shape3 shape) const {
  std::vector<std::int64_t> places{0};
  for (const ViewAxis& axis : axes) {
    for (const MapDigit& digit : axis) {
      const std::int64_t scale = digit.of == MapDigit::Of::channel  ? shape.h * shape.w
                                 : digit.of == MapDigit::Of::height ? shape.w
                                                                    : 1;
      std::vector<std::int64_t> next;
      next.reserve(places.size() * static_cast<std::size_t>(digit.extent));
      for (const std::int64_t place : places)
        for (std::int64_t i = 0; i < digit.extent; ++i) next.push_back(place + i * digit.step * scale);
      places = std::move(next);
    }
  }
  return places;
}

}  // namespace kasimir
