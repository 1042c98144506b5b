// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/image_set.h"

#include <cstdint>
#include <span>
#include <vector>

namespace kasimir {

/// 0, 1, .. of all images.
std::vector<std::int32_t> every_index(const ImageSet& images);

/// `count` of the images `among`, chosen at random for the seed, as ascending indices. Each class gets its share of
/// `count` rounded up or down (largest remainders, lower class first), and keeps the first images of one random order.
/// `labels` are those of the whole set; `among` are distinct indices into it. 0 <= count <= among.size().
std::vector<std::int32_t> stratified_subset(std::span<const std::int32_t> labels, std::span<const std::int32_t> among,
                                            std::int64_t count, std::uint64_t seed);

/// The same, out of all images.
std::vector<std::int32_t> stratified_subset(std::span<const std::int32_t> labels, std::int64_t count,
                                            std::uint64_t seed);

/// Indices of the images to train on and to validate on: disjoint, together all, both ascending.
struct Split {
  std::vector<std::int32_t> train;
  std::vector<std::int32_t> validation;
  bool operator==(const Split&) const = default;
};

/// Sets `fraction` of the training images apart for validation, chosen at random for the seed, every class with its
/// share. @throws Error (input) if the fraction is not between 0 and 1 or leaves either part empty.
Split split_validation(const ImageSet& train, double fraction, std::uint64_t seed);

/// The images at `indices` with their targets, in that order and in memory.
ImageSet select_images(const ImageSet& set, std::span<const std::int32_t> indices);

/// Of each channel, with pixels scaled to 0..1.
struct ChannelStatistics {
  std::vector<double> mean;
  std::vector<double> deviation;  ///< standard deviation of the population
};

/// Over all pixels of the images at `indices`, of which there must be at least one. Streamed images are not read again.
ChannelStatistics channel_statistics(const ImageSet& set, std::span<const std::int32_t> indices);

}  // namespace kasimir
