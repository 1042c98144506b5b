// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data_options.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <array>
#include <utility>

namespace kasimir {

std::int64_t parse_memory(const std::string& text) {
  constexpr std::array units{std::pair{"KiB", 1024.0},       std::pair{"MiB", 1048576.0},
                             std::pair{"GiB", 1073741824.0}, std::pair{"TiB", 1099511627776.0},
                             std::pair{"kB", 1e3},           std::pair{"MB", 1e6},
                             std::pair{"GB", 1e9},           std::pair{"TB", 1e12}};
  std::string digits = text;
  double unit = 1;
  for (const auto& [name, bytes] : units) {
    if (!text.ends_with(name)) continue;
    digits = std::string(trim(text.substr(0, text.size() - std::string(name).size())));
    unit = bytes;
  }
  const auto value = parse_number(digits);
  if (!value || *value < 0 || *value * unit > 9e18)
    throw input_error("cannot read `{}` as a size of memory", text).note("examples: 512MiB, 4GiB, 2GB");
  return static_cast<std::int64_t>(*value * unit);
}

ImageSize parse_image_size(const std::string& text) {
  const std::vector<std::string> parts = split(text, 'x');
  const auto side = [&](std::size_t i) { return i < parts.size() ? parse_integer(parts[i]) : std::nullopt; };
  const auto height = side(0);
  const auto width = side(1);
  constexpr std::int64_t most = 65535;
  if (parts.size() != 2 || !height || !width || *height < 1 || *width < 1 || *height > most || *width > most)
    throw input_error("cannot read `{}` as a size of images", text).note("example: 64x96, 64 rows of 96 pixels");
  return {static_cast<int>(*height), static_cast<int>(*width)};
}

LoadOptions DataOptions::load_options() const {
  LoadOptions options;
  options.skip_corrupt = skip_corrupt;
  if (!memory.empty()) options.memory_limit = parse_memory(memory);
  if (!size.empty()) options.resize = parse_image_size(size);
  return options;
}

void DataOptions::add_to(nlohmann::json& json) const {
  if (skip_corrupt) json["skip_corrupt"] = true;
  if (!memory.empty()) json["data_memory"] = memory;
  if (!size.empty()) json["image_size"] = size;
}

DataOptions DataOptions::from_json(const nlohmann::json& json) {
  return {.skip_corrupt = json.value("skip_corrupt", false),
          .memory = json.value("data_memory", ""),
          .size = json.value("image_size", "")};
}

void add_data_options(CLI::App& app, DataOptions& options) {
  app.add_flag("--skip-corrupt", options.skip_corrupt, "go on without images that cannot be read");
  app.add_option("--data-memory", options.memory,
                 "memory that images may take, such as 4GiB (default 16GiB); what needs more is streamed");
  app.add_option("--image-size", options.size, "scale images to HEIGHTxWIDTH, such as 64x64 (default: as they are)");
}

}  // namespace kasimir
