// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/fingerprint.h"

#include "kasimir/base/rng.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>

namespace kasimir {

void DataFingerprint::number(std::uint64_t value) { state_ = mix_bits(state_ ^ value); }

void DataFingerprint::bytes(std::span<const std::uint8_t> data) {
  number(data.size());
  for (std::size_t at = 0; at < data.size(); at += 8) {
    std::uint64_t word = 0;
    for (std::size_t i = 0; i < std::min<std::size_t>(8, data.size() - at); ++i)
      word |= std::uint64_t{data[at + i]} << (8 * i);
    number(word);
  }
}

void DataFingerprint::text(const std::string& value) {
  bytes({reinterpret_cast<const std::uint8_t*>(value.data()), value.size()});
}

void DataFingerprint::extents(const ImageSet& set) {
  for (const int extent : {set.channels, set.height, set.width}) number(static_cast<std::uint64_t>(extent));
}

void DataFingerprint::whole_images(const ImageSet& set) {
  extents(set);
  bytes(set.pixels);
  for (const std::int32_t label : set.labels) number(static_cast<std::uint64_t>(label));
}

void DataFingerprint::each_image(const ImageSet& set) {
  extents(set);
  for (std::int64_t i = 0; i < set.size(); ++i) {
    number(set.stream ? set.stream->hash(i) : pixel_hash(set.image(i)));
    number(static_cast<std::uint64_t>(set.labels[static_cast<std::size_t>(i)]));
  }
  for (const float value : set.values) number(std::bit_cast<std::uint32_t>(value));
  bytes(set.masks);
}

std::string DataFingerprint::str() const { return fmt::format("{:016x}", state_); }

std::uint64_t pixel_hash(std::span<const std::uint8_t> pixels) {
  DataFingerprint one;
  one.bytes(pixels);
  return one.value();
}

}  // namespace kasimir
