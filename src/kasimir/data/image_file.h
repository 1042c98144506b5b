// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <string_view>
#include <vector>

namespace kasimir {

/// One image, always as red, green and blue.
struct DecodedImage {
  int height = 0;
  int width = 0;
  bool grey = false;                 ///< the file has no colour, so the three planes are equal
  std::vector<std::uint8_t> planes;  ///< [3, height, width], 0..255
};

/// Images with more pixels than this are refused before any memory is taken for them.
constexpr std::int64_t max_image_pixels = std::int64_t{1} << 27;

/// True for .jpg, .jpeg and .png, in capital letters too.
bool has_image_extension(const std::filesystem::path& path);

/// Decodes JPEG or PNG; the first bytes decide which, since names in real data sets are often wrong. Transparency is
/// dropped, 16-bit samples are reduced to 8 bits, the orientation tag of cameras is not applied.
/// `name` is the file's, for messages.
/// @throws Error (input) if it is neither, ends early, is damaged, or is too large.
DecodedImage decode_image(std::string_view content, std::string_view name);

}  // namespace kasimir
