// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/split.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <utility>

namespace kasimir {
namespace {

std::size_t at(std::int64_t index) { return static_cast<std::size_t>(index); }

std::vector<std::int32_t> all_indices(std::int64_t count) {
  std::vector<std::int32_t> indices(at(count));
  std::iota(indices.begin(), indices.end(), 0);
  return indices;
}

/// How many of `count` each class gets: exact shares rounded down, the rest to the largest remainders.
std::vector<std::size_t> quotas(const std::vector<std::vector<std::int32_t>>& members, std::uint64_t count,
                                std::uint64_t total) {
  std::vector<std::size_t> result(members.size());
  std::vector<std::pair<std::uint64_t, std::size_t>> remainders;
  std::uint64_t left = count;
  for (std::size_t c = 0; c < members.size() && total > 0; ++c) {
    // indices have 31 bits, so the product fits
    const std::uint64_t product = count * members[c].size();
    result[c] = product / total;
    left -= result[c];
    remainders.emplace_back(product % total, c);
  }
  std::stable_sort(remainders.begin(), remainders.end(),
                   [](const auto& a, const auto& b) { return a.first > b.first; });
  for (std::size_t i = 0; i < left; ++i) ++result[remainders[i].second];
  return result;
}

template <typename T>
void append_part(std::vector<T>& to, const std::vector<T>& from, std::size_t index, std::size_t count) {
  const auto first = from.begin() + static_cast<std::ptrdiff_t>(index * count);
  to.insert(to.end(), first, first + static_cast<std::ptrdiff_t>(count));
}

}  // namespace

std::vector<std::int32_t> every_index(const ImageSet& images) { return all_indices(images.size()); }

std::vector<std::int32_t> stratified_subset(std::span<const std::int32_t> labels, std::span<const std::int32_t> among,
                                            std::int64_t count, std::uint64_t seed) {
  KASIMIR_CHECK(count >= 0 && at(count) <= among.size(), "{} of {} images", count, among.size());
  std::vector<std::vector<std::int32_t>> members;
  for (const std::int32_t index : among) {
    KASIMIR_CHECK(index >= 0 && at(index) < labels.size(), "image {} of {}", index, labels.size());
    const std::int32_t label = labels[at(index)];
    KASIMIR_CHECK(label >= 0, "label {}", label);
    if (members.size() <= at(label)) members.resize(at(label) + 1);
    members[at(label)].push_back(index);
  }
  const std::vector<std::size_t> wanted = quotas(members, static_cast<std::uint64_t>(count), among.size());
  std::vector<std::int32_t> chosen;
  for (std::size_t c = 0; c < members.size(); ++c) {
    Rng rng(seed, c);
    for (std::size_t i = 0; i < wanted[c]; ++i)
      std::swap(members[c][i], members[c][i + rng.below(members[c].size() - i)]);
    chosen.insert(chosen.end(), members[c].begin(), members[c].begin() + static_cast<std::ptrdiff_t>(wanted[c]));
  }
  std::sort(chosen.begin(), chosen.end());
  return chosen;
}

std::vector<std::int32_t> stratified_subset(std::span<const std::int32_t> labels, std::int64_t count,
                                            std::uint64_t seed) {
  return stratified_subset(labels, all_indices(static_cast<std::int64_t>(labels.size())), count, seed);
}

Split split_validation(const ImageSet& train, double fraction, std::uint64_t seed) {
  if (!(fraction > 0 && fraction < 1))
    throw input_error("a validation fraction of {} is not between 0 and 1", fraction)
        .note("0.1 sets every tenth training image apart");
  const auto count = static_cast<std::int64_t>(std::llround(fraction * static_cast<double>(train.size())));
  if (count == 0 || count == train.size())
    throw input_error("a validation fraction of {} leaves {} of {} images to validate on and {} to train on", fraction,
                      count, train.size(), train.size() - count)
        .note("both parts need images: choose a fraction nearer to 0.5 or more images");
  Split split;
  split.validation = stratified_subset(train.labels, count, seed);
  const std::vector<std::int32_t> all = all_indices(train.size());
  std::set_difference(all.begin(), all.end(), split.validation.begin(), split.validation.end(),
                      std::back_inserter(split.train));
  return split;
}

ImageSet select_images(const ImageSet& set, std::span<const std::int32_t> indices) {
  ImageSet chosen{.channels = set.channels, .height = set.height, .width = set.width, .pixels = {}, .labels = {}};
  chosen.pixels.reserve(indices.size() * set.image_bytes());
  chosen.labels.reserve(indices.size());
  const std::size_t values = set.labels.empty() ? 0 : set.values.size() / set.labels.size();
  const std::size_t places = set.masks.empty() ? 0 : at(set.height) * at(set.width);
  for (const std::int32_t index : indices) {
    KASIMIR_CHECK(index >= 0 && index < set.size(), "image {} of {}", index, set.size());
    chosen.labels.push_back(set.labels[at(index)]);
    append_part(chosen.values, set.values, at(index), values);
    append_part(chosen.masks, set.masks, at(index), places);
    if (!set.stream) append_part(chosen.pixels, set.pixels, at(index), set.image_bytes());
  }
  if (set.stream) {
    chosen.pixels.resize(indices.size() * set.image_bytes());
    set.stream->read(indices, chosen.pixels);
  }
  return chosen;
}

ChannelStatistics channel_statistics(const ImageSet& set, std::span<const std::int32_t> indices) {
  KASIMIR_CHECK(!indices.empty(), "statistics of no image, out of {}", set.size());
  const std::size_t plane = at(set.height) * at(set.width);
  std::vector<std::uint64_t> sums(at(set.channels));
  std::vector<std::uint64_t> squares(at(set.channels));
  for (const std::int32_t index : indices) {
    KASIMIR_CHECK(index >= 0 && index < set.size(), "image {} of {}", index, set.size());
    if (set.stream) {
      const auto known = set.stream->sums(index);
      for (std::size_t c = 0; c < sums.size(); ++c) {
        sums[c] += known[c];
        squares[c] += known[sums.size() + c];
      }
      continue;
    }
    const auto image = set.image(index);
    for (std::size_t c = 0; c < sums.size(); ++c) {
      for (const std::uint64_t value : image.subspan(c * plane, plane)) {
        sums[c] += value;
        squares[c] += value * value;
      }
    }
  }
  ChannelStatistics result;
  const double count = static_cast<double>(indices.size()) * static_cast<double>(plane);
  for (std::size_t c = 0; c < sums.size(); ++c) {
    const double mean = static_cast<double>(sums[c]) / count;
    const double variance = static_cast<double>(squares[c]) / count - mean * mean;
    result.mean.push_back(mean / 255);
    result.deviation.push_back(std::sqrt(std::max(0.0, variance)) / 255);
  }
  return result;
}

}  // namespace kasimir
