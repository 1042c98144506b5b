// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/image_file.h"

#include "kasimir/base/error.h"
#include "kasimir/data/jpeg.h"
#include "kasimir/data/png.h"

#include <algorithm>
#include <string>

namespace kasimir {

bool has_image_extension(const std::filesystem::path& path) {
  std::string extension = path.extension().string();
  std::transform(extension.begin(), extension.end(), extension.begin(),
                 [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; });
  return extension == ".jpg" || extension == ".jpeg" || extension == ".png";
}

DecodedImage decode_image(std::string_view content, std::string_view name) {
  if (is_jpeg(content)) return decode_jpeg(content, name);
  if (is_png(content)) return decode_png(content, name);
  if (content.empty())
    throw input_error("cannot decode {}: the file is empty", name)
        .note("remove or replace the file; nothing was changed");
  std::string first;
  for (const char c : content.substr(0, 8)) first += fmt::format(" {:02x}", static_cast<unsigned char>(c));
  throw input_error("cannot decode {}: it is neither a JPEG nor a PNG file (it begins with the bytes{})", name, first)
      .note("remove or replace the file; nothing was changed");
}

}  // namespace kasimir
