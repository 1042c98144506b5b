// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/batches.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"

#include <algorithm>

namespace kasimir {

Batcher::Batcher(const ImageSet& images, const ChannelStatistics& normalisation) : images_(images) {
  KASIMIR_CHECK(normalisation.mean.size() == static_cast<std::size_t>(images.channels), "{} means for {} channels",
                normalisation.mean.size(), images.channels);
  values_.resize(normalisation.mean.size());
  for (std::size_t c = 0; c < values_.size(); ++c) {
    const double deviation = std::max(normalisation.deviation[c], smallest_deviation);
    for (std::size_t p = 0; p < 256; ++p)
      values_[c][p] = static_cast<float>((static_cast<double>(p) / 255.0 - normalisation.mean[c]) / deviation);
  }
}

void Batcher::write(std::span<const std::uint8_t> pixels, int down, int right, bool mirrored, float* to) const {
  const int height = images_.height;
  const int width = images_.width;
  const auto channels = static_cast<std::size_t>(images_.channels);
  for (int y = 0; y < height; ++y) {
    const int from_y = y - down;
    for (int x = 0; x < width; ++x) {
      const int from_x = (mirrored ? width - 1 - x : x) - right;
      const bool inside = from_y >= 0 && from_y < height && from_x >= 0 && from_x < width;
      for (std::size_t c = 0; c < channels; ++c) {
        const auto place = (c * static_cast<std::size_t>(height) + static_cast<std::size_t>(from_y)) *
                               static_cast<std::size_t>(width) +
                           static_cast<std::size_t>(from_x);
        *to++ = values_[c][inside ? pixels[place] : 0];
      }
    }
  }
}

void Batcher::write(std::span<const std::int32_t> indices, const Augmentation& augmentation,
                    std::span<float> to) const {
  KASIMIR_CHECK(to.size() == indices.size() * images_.image_bytes(), "{} numbers for {} images", to.size(),
                indices.size());
  const std::size_t bytes = images_.image_bytes();
  std::vector<std::uint8_t> decoded(images_.stream ? to.size() : 0);
  if (images_.stream) images_.stream->read(indices, decoded);
  float* next = to.data();
  for (std::size_t i = 0; i < indices.size(); ++i, next += bytes) {
    const std::int32_t index = indices[i];
    Rng rng(augmentation.seed, static_cast<std::uint64_t>(index));
    const int most = augmentation.crop_padding;
    const int down = most > 0 ? static_cast<int>(rng.between(-most, most)) : 0;
    const int right = most > 0 ? static_cast<int>(rng.between(-most, most)) : 0;
    const auto pixels =
        images_.stream ? std::span<const std::uint8_t>(decoded).subspan(i * bytes, bytes) : images_.image(index);
    write(pixels, down, right, augmentation.flip && rng.chance(0.5), next);
  }
}

std::vector<std::int64_t> Batcher::labels(std::span<const std::int32_t> indices) const {
  std::vector<std::int64_t> labels;
  for (std::int32_t index : indices) labels.push_back(images_.labels[static_cast<std::size_t>(index)]);
  return labels;
}

std::vector<float> Batcher::values(std::span<const std::int32_t> indices) const {
  const std::size_t count = images_.values.size() / images_.labels.size();
  std::vector<float> values;
  for (std::int32_t index : indices) {
    const auto first = images_.values.begin() + static_cast<std::ptrdiff_t>(static_cast<std::size_t>(index) * count);
    values.insert(values.end(), first, first + static_cast<std::ptrdiff_t>(count));
  }
  return values;
}

}  // namespace kasimir
