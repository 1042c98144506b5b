// SPDX-License-Identifier: Apache-2.0
#include "data_files.h"

#include <gtest/gtest.h>
#include <png.h>
#include <unistd.h>
#include <zlib.h>

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>

#include <jpeglib.h>

namespace kasimir::test {

const std::string understood_line =
    "\n  understood: the name fashion-mnist; a folder with train/<class>/ and test/<class>/ of JPEG or PNG files, with "
    "images/ and masks/, with the binary files of CIFAR-10 or CIFAR-100, with IDX files, with NumPy arrays (x.npy, "
    "y.npy) or with tar shards; an .npz file; or tar shards such as path/{000..012}.tar";

TempFolder::TempFolder() {
  std::string pattern = testing::TempDir() + "kasimir_data_XXXXXX";
  if (::mkdtemp(pattern.data()) == nullptr) throw std::runtime_error("cannot make " + pattern);
  path_ = pattern;
}

TempFolder::~TempFolder() {
  std::error_code ignored;
  std::filesystem::remove_all(path_, ignored);
}

void TempFolder::write(const std::filesystem::path& name, std::string_view content) const {
  std::filesystem::create_directories((path_ / name).parent_path());
  // file systems flush to disk what replaces a file, so a new one is many times faster
  std::filesystem::remove(path_ / name);
  std::ofstream out(path_ / name, std::ios::binary);
  out.write(content.data(), static_cast<std::streamsize>(content.size()));
  if (!out.flush()) throw std::runtime_error("cannot write " + (path_ / name).string());
}

Raster smooth_raster(int height, int width, int channels, int variant) {
  Raster raster{.height = height, .width = width, .channels = channels, .pixels = {}};
  for (int y = 0; y < height; ++y) {
    for (int x = 0; x < width; ++x) {
      for (int c = 0; c < channels; ++c)
        raster.pixels.push_back(static_cast<std::uint8_t>(40 + 17 * variant % 60 + y + x * (c + 1)));
    }
  }
  return raster;
}

namespace {

std::string encode_jpeg(const Raster& raster, J_COLOR_SPACE space, bool progressive) {
  jpeg_compress_struct encoder{};
  jpeg_error_mgr errors{};
  encoder.err = jpeg_std_error(&errors);
  jpeg_create_compress(&encoder);
  unsigned char* buffer = nullptr;
  unsigned long size = 0;
  jpeg_mem_dest(&encoder, &buffer, &size);
  encoder.image_height = static_cast<JDIMENSION>(raster.height);
  encoder.image_width = static_cast<JDIMENSION>(raster.width);
  encoder.input_components = raster.channels;
  encoder.in_color_space = space;
  jpeg_set_defaults(&encoder);
  jpeg_set_quality(&encoder, 98, TRUE);
  for (int c = 0; c < encoder.num_components; ++c) {
    encoder.comp_info[c].h_samp_factor = 1;
    encoder.comp_info[c].v_samp_factor = 1;
  }
  if (progressive) jpeg_simple_progression(&encoder);
  jpeg_start_compress(&encoder, TRUE);
  const auto stride = static_cast<std::size_t>(raster.width) * static_cast<std::size_t>(raster.channels);
  for (std::size_t y = 0; y < static_cast<std::size_t>(raster.height); ++y) {
    auto* row = const_cast<JSAMPROW>(raster.pixels.data() + y * stride);
    jpeg_write_scanlines(&encoder, &row, 1);
  }
  jpeg_finish_compress(&encoder);
  std::string bytes(reinterpret_cast<const char*>(buffer), size);
  jpeg_destroy_compress(&encoder);
  std::free(buffer);
  return bytes;
}

}  // namespace

std::string jpeg_bytes(const Raster& raster, bool progressive) {
  return encode_jpeg(raster, raster.channels == 1 ? JCS_GRAYSCALE : JCS_RGB, progressive);
}

std::string cmyk_jpeg_bytes(int height, int width) {
  return encode_jpeg(smooth_raster(height, width, 4, 0), JCS_CMYK, false);
}

std::string png_bytes(const Raster& raster) {
  png_image image{};
  image.version = PNG_IMAGE_VERSION;
  image.height = static_cast<png_uint_32>(raster.height);
  image.width = static_cast<png_uint_32>(raster.width);
  image.format =
      (raster.channels >= 3 ? PNG_FORMAT_FLAG_COLOR : 0U) | (raster.channels % 2 == 0 ? PNG_FORMAT_FLAG_ALPHA : 0U);
  png_alloc_size_t size = 0;
  png_image_write_to_memory(&image, nullptr, &size, 0, raster.pixels.data(), 0, nullptr);
  std::string bytes(size, '\0');
  if (png_image_write_to_memory(&image, bytes.data(), &size, 0, raster.pixels.data(), 0, nullptr) == 0)
    throw std::runtime_error(image.message);
  bytes.resize(size);
  return bytes;
}

std::string gzip_bytes(std::string_view content) {
  z_stream stream{};
  deflateInit2(&stream, Z_BEST_COMPRESSION, Z_DEFLATED, 15 + 16, 8, Z_DEFAULT_STRATEGY);
  std::string bytes(deflateBound(&stream, content.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(content.data()));
  stream.avail_in = static_cast<uInt>(content.size());
  stream.next_out = reinterpret_cast<Bytef*>(bytes.data());
  stream.avail_out = static_cast<uInt>(bytes.size());
  EXPECT_EQ(deflate(&stream, Z_FINISH), Z_STREAM_END);
  bytes.resize(stream.total_out);
  deflateEnd(&stream);
  return bytes;
}

std::string idx_bytes(std::uint32_t magic, const std::vector<std::uint32_t>& dims,
                      const std::vector<std::uint8_t>& elements) {
  std::string bytes;
  const auto number = [&](std::uint32_t value) {
    for (int shift = 24; shift >= 0; shift -= 8) bytes += static_cast<char>(value >> shift & 0xFF);
  };
  number(magic);
  for (const std::uint32_t extent : dims) number(extent);
  bytes.append(elements.begin(), elements.end());
  return bytes;
}

std::string cifar_record(const std::vector<std::uint8_t>& labels, std::uint8_t first) {
  std::string bytes(labels.begin(), labels.end());
  for (int i = 0; i < 3072; ++i) bytes += static_cast<char>(first + i);
  return bytes;
}

std::string error_of(const std::function<void()>& action) {
  try {
    action();
  } catch (const Error& error) {
    return "exit " + std::to_string(static_cast<int>(error.fault())) + ": " + error.what();
  }
  return "nothing thrown";
}

}  // namespace kasimir::test
