// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"
#include "kasimir/data/split.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <optional>
#include <span>
#include <string>
#include <vector>

namespace kasimir {

/// Options that say how a data set is read.
struct DataOptions {
  bool skip_corrupt = false;
  std::string memory;                               ///< "4GiB"; empty: the library's default
  std::string size;                                 ///< "64x64", height and width; empty: as the images are
  std::vector<double> pixel_mean, pixel_deviation;  ///< of each channel or of all; empty: statistics of the images

  [[nodiscard]] LoadOptions load_options() const;
  /// What a network of the user's own was trained with, if it is told. @throws Error (input) where the numbers do not
  /// fit the channels.
  [[nodiscard]] std::optional<ChannelStatistics> own_scale(int channels) const;
  /// The same, or the statistics of these images.
  [[nodiscard]] ChannelStatistics scale(const ImageSet& images, std::span<const std::int32_t> indices) const;
  /// Only what is not the default, so that studies from before go on.
  [[nodiscard]] nlohmann::json to_json() const;
  static DataOptions from_json(const nlohmann::json& json);
};
/// The same options for every command that reads a data set.
void add_data_options(CLI::App& app, DataOptions& options);
/// Those of commands that take networks with weights.
void add_pixel_options(CLI::App& app, DataOptions& options);

/// "512MiB", "4GiB", "2GB", "1000000" as bytes. @throws Error (input).
std::int64_t parse_memory(const std::string& text);
/// "64x96" as 64 rows of 96 pixels. @throws Error (input).
ImageSize parse_image_size(const std::string& text);

}  // namespace kasimir
