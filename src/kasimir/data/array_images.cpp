// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/array_images.h"

#include "kasimir/base/error.h"
#include "kasimir/data/fingerprint.h"
#include "kasimir/data/parallel.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kasimir {
namespace {

constexpr std::int64_t most_side = 65535;
constexpr std::int64_t most_images = std::numeric_limits<std::int32_t>::max();

class ArrayStream : public ImageStream {
 public:
  ArrayStream(const ArrayStore::Raw& raw, const ArrayLayout& layout, std::vector<std::int32_t> chosen, int threads)
      : file_(raw.path),
        begin_(raw.begin),
        layout_(layout),
        channels_(static_cast<std::size_t>(layout.channels)),
        chosen_(std::move(chosen)),
        threads_(threads),
        sums_(chosen_.size() * 2 * channels_),
        hashes_(chosen_.size()) {
    const auto look = [&](std::int64_t index) {
      const auto i = static_cast<std::size_t>(index);
      std::vector<std::uint8_t> pixels(static_cast<std::size_t>(layout_.image_elements()));
      one(index, pixels);
      hashes_[i] = pixel_hash(pixels);
      const std::size_t plane = pixels.size() / channels_;
      for (std::size_t c = 0; c < channels_; ++c) {
        for (const std::uint64_t value : std::span(pixels).subspan(c * plane, plane)) {
          sums_[i * 2 * channels_ + c] += value;
          sums_[(i * 2 + 1) * channels_ + c] += value * value;
        }
      }
    };
    for_each_index(std::ssize(chosen_), threads_, look, nullptr);
  }

  void read(std::span<const std::int32_t> indices, std::span<std::uint8_t> to) const override {
    const auto bytes = static_cast<std::size_t>(layout_.image_elements());
    KASIMIR_CHECK(to.size() == indices.size() * bytes, "{} bytes for {} images", to.size(), indices.size());
    for_each_index(
        std::ssize(indices), threads_,
        [&](std::int64_t i) {
          const auto place = static_cast<std::size_t>(i);
          one(indices[place], to.subspan(place * bytes, bytes));
        },
        nullptr);
  }
  [[nodiscard]] std::span<const std::uint64_t> sums(std::int64_t index) const override {
    return std::span(sums_).subspan(static_cast<std::size_t>(index) * 2 * channels_, 2 * channels_);
  }
  [[nodiscard]] std::uint64_t hash(std::int64_t index) const override {
    return hashes_[static_cast<std::size_t>(index)];
  }

 private:
  void one(std::int64_t index, std::span<std::uint8_t> to) const {
    const std::int64_t bytes = layout_.image_elements();
    const std::string content = file_.read(begin_ + chosen_[static_cast<std::size_t>(index)] * bytes, bytes);
    if (std::ssize(content) != bytes) throw input_error("{} has become shorter while it was read", file_.name());
    const std::int64_t places = bytes / layout_.channels;
    std::size_t next = 0;
    for (std::int64_t c = 0; c < layout_.channels; ++c)
      for (std::int64_t p = 0; p < places; ++p)
        to[next++] = static_cast<std::uint8_t>(content[static_cast<std::size_t>(layout_.from(c, p))]);
  }

  RangeFile file_;
  std::int64_t begin_;
  ArrayLayout layout_;
  std::size_t channels_;
  std::vector<std::int32_t> chosen_;
  int threads_;
  std::vector<std::uint64_t> sums_;
  std::vector<std::uint64_t> hashes_;
};

}  // namespace

ArrayLayout image_layout(const NpyHeader& header, const std::string& title) {
  const std::vector<std::int64_t>& shape = header.shape;
  if (shape.size() != 3 && shape.size() != 4)
    throw input_error("{} is {}: images are n x rows x columns, with channels as axis 1 or 3", title,
                      header.shape_text());
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::int64_t most = i == 0 ? most_images : most_side;
    if (shape[i] < 1 || shape[i] > most)
      throw input_error("{} is {}: axis {} must be 1 to {}", title, header.shape_text(), i, most);
  }
  ArrayLayout layout{.images = shape[0], .height = static_cast<int>(shape[1]), .width = static_cast<int>(shape[2])};
  if (shape.size() == 3) return layout;
  if (shape[1] == shape[3])
    throw input_error("{} is {}: which axis is that of channels cannot be told", title, header.shape_text())
        .note("axis 1 or axis 3 must be smaller than the other");
  layout.channels_last = shape[3] < shape[1];
  layout.channels = static_cast<int>(layout.channels_last ? shape[3] : shape[1]);
  layout.height = static_cast<int>(layout.channels_last ? shape[1] : shape[2]);
  layout.width = static_cast<int>(layout.channels_last ? shape[2] : shape[3]);
  return layout;
}

std::uint8_t PixelScale::pixel(double value) const {
  return static_cast<std::uint8_t>(std::clamp(std::round((value - low) * factor), 0.0, 255.0));
}

PixelScale pixel_scale(const NpyArray& array) {
  if (array.header.type == ElementType::u1) return {};
  double low = std::numeric_limits<double>::infinity();
  double high = -low;
  bool whole = true;
  for (std::int64_t i = 0; i < array.header.elements(); ++i) {
    const double value = array.at(i);
    if (!std::isfinite(value)) continue;
    low = std::min(low, value);
    high = std::max(high, value);
    whole = whole && value == std::round(value);
  }
  if (whole && low >= 0 && high <= 255 && (high > 1 || !array.header.is_float())) return {};
  if (low >= 0 && high <= 1) return {0, 255, "; pixels from 0 to 1 brought to 0 to 255 in whole steps"};
  if (!(low <= high)) return {};
  const double range = high > low ? high - low : 1;
  return {low, 255 / range, fmt::format("; pixels from {:g} to {:g} brought to 0 to 255 in whole steps", low, high)};
}

ImageSet images_of(const NpyArray& array, const ArrayLayout& layout, const PixelScale& scale,
                   std::vector<std::int32_t>& damaged) {
  ImageSet set{.channels = layout.channels, .height = layout.height, .width = layout.width, .pixels = {}, .labels = {}};
  const std::int64_t elements = layout.image_elements();
  const std::int64_t places = elements / layout.channels;
  set.pixels.reserve(static_cast<std::size_t>(layout.images * elements));
  for (std::int64_t i = 0; i < layout.images; ++i) {
    bool finite = true;
    for (std::int64_t c = 0; c < layout.channels; ++c) {
      for (std::int64_t p = 0; p < places; ++p) {
        const double value = array.at(i * elements + layout.from(c, p));
        finite = finite && std::isfinite(value);
        set.pixels.push_back(std::isfinite(value) ? scale.pixel(value) : std::uint8_t{0});
      }
    }
    if (!finite) damaged.push_back(static_cast<std::int32_t>(i));
  }
  return set;
}

std::shared_ptr<const ImageStream> array_stream(const ArrayStore::Raw& raw, const ArrayLayout& layout,
                                                std::vector<std::int32_t> chosen, int threads) {
  return std::make_shared<ArrayStream>(raw, layout, std::move(chosen), threads);
}

}  // namespace kasimir
