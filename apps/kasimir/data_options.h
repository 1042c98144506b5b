// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/data/dataset.h"

#include <CLI/CLI.hpp>
#include <nlohmann/json.hpp>

#include <string>

namespace kasimir {

/// Options that say how a data set is read.
struct DataOptions {
  bool skip_corrupt = false;
  std::string memory;  ///< "4GiB"; empty: the library's default
  std::string size;    ///< "64x64", height and width; empty: as the images are

  [[nodiscard]] LoadOptions load_options() const;
  /// Only what is not the default, so that studies from before go on.
  void add_to(nlohmann::json& json) const;
  static DataOptions from_json(const nlohmann::json& json);
};
void add_data_options(CLI::App& app, DataOptions& options);

/// "512MiB", "4GiB", "2GB", "1000000" as bytes. @throws Error (input).
std::int64_t parse_memory(const std::string& text);
/// "64x96" as 64 rows of 96 pixels. @throws Error (input).
ImageSize parse_image_size(const std::string& text);

}  // namespace kasimir
