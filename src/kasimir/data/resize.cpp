// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/resize.h"

#include "kasimir/base/error.h"

#include <algorithm>
#include <cmath>

namespace kasimir {

Resizer::Resizer(ImageSize from, ImageSize to) : from_(from), to_(to) {
  KASIMIR_CHECK(from.height > 0 && from.width > 0 && to.height > 0 && to.width > 0, "{} x {} to {} x {}", from.height,
                from.width, to.height, to.width);
  rows_ = taps(from.height, to.height);
  columns_ = taps(from.width, to.width);
}

std::vector<Resizer::Tap> Resizer::taps(int from, int to) {
  const double scale = static_cast<double>(from) / to;
  const double reach = std::max(scale, 1.0);
  std::vector<Tap> result(static_cast<std::size_t>(to));
  for (int i = 0; i < to; ++i) {
    const double centre = (i + 0.5) * scale;
    const int first = std::max(0, static_cast<int>(std::floor(centre - reach)));
    const int last = std::min(from - 1, static_cast<int>(std::ceil(centre + reach)));
    Tap& tap = result[static_cast<std::size_t>(i)];
    tap.first = static_cast<std::size_t>(first);
    double sum = 0;
    for (int j = first; j <= last; ++j) {
      tap.weights.push_back(std::max(0.0, 1 - std::abs(j + 0.5 - centre) / reach));
      sum += tap.weights.back();
    }
    for (double& weight : tap.weights) weight /= sum;
  }
  return result;
}

void Resizer::apply(std::span<const std::uint8_t> source, std::span<std::uint8_t> target) const {
  const auto from_width = static_cast<std::size_t>(from_.width);
  const auto to_width = static_cast<std::size_t>(to_.width);
  KASIMIR_CHECK(source.size() == from_width * static_cast<std::size_t>(from_.height), "{} elements", source.size());
  KASIMIR_CHECK(target.size() == to_width * static_cast<std::size_t>(to_.height), "{} elements", target.size());
  std::vector<double> row(from_width);
  for (std::size_t i = 0; i < rows_.size(); ++i) {
    std::fill(row.begin(), row.end(), 0.0);
    for (std::size_t k = 0; k < rows_[i].weights.size(); ++k) {
      const auto line = source.subspan((rows_[i].first + k) * from_width, from_width);
      for (std::size_t x = 0; x < from_width; ++x) row[x] += rows_[i].weights[k] * line[x];
    }
    for (std::size_t j = 0; j < to_width; ++j) {
      double value = 0;
      for (std::size_t k = 0; k < columns_[j].weights.size(); ++k)
        value += columns_[j].weights[k] * row[columns_[j].first + k];
      target[i * to_width + j] = static_cast<std::uint8_t>(std::clamp(std::lround(value), 0L, 255L));
    }
  }
}

}  // namespace kasimir
