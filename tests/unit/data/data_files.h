// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

namespace kasimir::test {

/// A new empty folder, removed with all it holds at the end.
class TempFolder {
 public:
  TempFolder();
  TempFolder(const TempFolder&) = delete;
  TempFolder& operator=(const TempFolder&) = delete;
  ~TempFolder();

  [[nodiscard]] const std::filesystem::path& path() const { return path_; }
  [[nodiscard]] std::string str() const { return path_.string(); }
  /// Writes a file and the folders above it.
  void write(const std::filesystem::path& name, std::string_view content) const;

 private:
  std::filesystem::path path_;
};

/// Pixels in file order: rows of interleaved channels (1, 2 = grey with alpha, 3, 4 = colour with alpha).
struct Raster {
  int height = 0;
  int width = 0;
  int channels = 0;
  std::vector<std::uint8_t> pixels;
};

/// A smooth picture, different for each `variant`, that JPEG keeps within a few levels.
Raster smooth_raster(int height, int width, int channels, int variant);

std::string jpeg_bytes(const Raster& raster, bool progressive = false);
std::string png_bytes(const Raster& raster);
/// A JPEG in the four ink colours of printers, which has no plain conversion to red, green and blue.
std::string cmyk_jpeg_bytes(int height, int width);

std::string gzip_bytes(std::string_view content);
/// An IDX file: magic number, dimensions, elements.
std::string idx_bytes(std::uint32_t magic, const std::vector<std::uint32_t>& dims,
                      const std::vector<std::uint8_t>& elements);

/// One record of a CIFAR file: the labels, then 3072 pixels that count up from `first`.
std::string cifar_record(const std::vector<std::uint8_t>& labels, std::uint8_t first);

/// What the Error that `action` throws says, with "exit N: " before it; "nothing thrown" if it does not.
std::string error_of(const std::function<void()>& action);

/// The line about what load_dataset understands.
extern const std::string understood_line;

}  // namespace kasimir::test
