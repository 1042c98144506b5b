// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/png.h"

#include "kasimir/base/error.h"

#include <png.h>

#include <string>

namespace kasimir {
namespace {

constexpr std::size_t signature_bytes = 8;

Error decode_failure(std::string_view name, std::string_view reason) {
  Error error = input_error("cannot decode {}: {}", name, reason);
  error.note("remove or replace the file; nothing was changed");
  return error;
}

/// libpng stops reading at the last row, so a file cut after it would pass. Walks the chunks to the last one.
void check_chunks(std::string_view content, std::string_view name) {
  constexpr std::size_t frame = 12;  // length, type and checksum around each chunk's data
  std::size_t at = signature_bytes;
  while (true) {
    std::size_t end = at + frame;
    if (end <= content.size()) {
      std::size_t length = 0;
      for (std::size_t i = at; i < at + 4; ++i) length = length << 8 | static_cast<unsigned char>(content[i]);
      end += length;
    }
    if (end > content.size())
      throw decode_failure(
          name, fmt::format("the PNG data ends early ({} bytes found, at least {} needed)", content.size(), end));
    if (content.substr(at + 4, 4) == "IEND") return;
    at = end;
  }
}

/// libpng's simplified reader: it confines its own long jumps, and reports by a flag and a message.
class PngReader {
 public:
  explicit PngReader(std::string_view content) {
    image_.version = PNG_IMAGE_VERSION;
    png_image_begin_read_from_memory(&image_, content.data(), content.size());
  }
  PngReader(const PngReader&) = delete;
  PngReader& operator=(const PngReader&) = delete;
  ~PngReader() { png_image_free(&image_); }

  [[nodiscard]] bool failed() const { return PNG_IMAGE_FAILED(image_); }
  [[nodiscard]] const png_image& image() const { return image_; }

  void read_rgba(unsigned char* rgba) {
    image_.format = PNG_FORMAT_RGBA;
    image_.flags |= PNG_IMAGE_FLAG_16BIT_sRGB;
    png_image_finish_read(&image_, nullptr, rgba, 0, nullptr);
  }
  [[nodiscard]] Error error(std::string_view name) const {
    return decode_failure(name, fmt::format("the PNG data cannot be read ({})", image_.message));
  }

 private:
  png_image image_{};
};

}  // namespace

bool is_png(std::string_view content) { return content.starts_with("\x89PNG"); }

DecodedImage decode_png(std::string_view content, std::string_view name) {
  check_chunks(content, name);
  PngReader reader(content);
  if (reader.failed()) throw reader.error(name);
  const auto pixels = static_cast<std::int64_t>(reader.image().height) * reader.image().width;
  if (pixels > max_image_pixels)
    throw input_error("cannot decode {}: {} x {} pixels found, at most {} pixels allowed", name, reader.image().height,
                      reader.image().width, max_image_pixels);
  DecodedImage image;
  image.height = static_cast<int>(reader.image().height);
  image.width = static_cast<int>(reader.image().width);
  image.grey = (reader.image().format & PNG_FORMAT_FLAG_COLOR) == 0;
  const auto plane = static_cast<std::size_t>(pixels);
  std::vector<unsigned char> rgba(4 * plane);
  reader.read_rgba(rgba.data());
  if (reader.failed()) throw reader.error(name);
  image.planes.resize(3 * plane);
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < 3; ++c) image.planes[c * plane + i] = rgba[4 * i + c];
  }
  return image;
}

}  // namespace kasimir
