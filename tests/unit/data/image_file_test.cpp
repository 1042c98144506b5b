// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/image_file.h"

#include "data_files.h"

#include <gtest/gtest.h>

#include <cstdlib>

namespace kasimir {
namespace {

using test::error_of;
using test::jpeg_bytes;
using test::png_bytes;
using test::Raster;
using test::smooth_raster;

const std::string replace_it = "\n  remove or replace the file; nothing was changed";

/// Compares planes with the interleaved pixels they came from; a grey raster counts for all three planes.
void expect_planes(const DecodedImage& image, const Raster& raster, int tolerance) {
  ASSERT_EQ(image.height, raster.height);
  ASSERT_EQ(image.width, raster.width);
  const auto plane = static_cast<std::size_t>(raster.height) * static_cast<std::size_t>(raster.width);
  const auto channels = static_cast<std::size_t>(raster.channels);
  ASSERT_EQ(image.planes.size(), 3 * plane);
  for (std::size_t i = 0; i < plane; ++i) {
    for (std::size_t c = 0; c < 3; ++c) {
      const int wanted = raster.pixels[i * channels + (channels < 3 ? 0 : c)];
      ASSERT_LE(std::abs(image.planes[c * plane + i] - wanted), tolerance) << "pixel " << i << " channel " << c;
    }
  }
}

TEST(ImageFile, DecodesColourJpegWithinAFewLevels) {
  const Raster raster = smooth_raster(19, 13, 3, 1);
  const DecodedImage image = decode_image(jpeg_bytes(raster), "a.jpg");
  EXPECT_FALSE(image.grey);
  expect_planes(image, raster, 4);
}

TEST(ImageFile, DecodesProgressiveJpegAsTheBaselineOne) {
  const Raster raster = smooth_raster(24, 17, 3, 2);
  EXPECT_EQ(decode_image(jpeg_bytes(raster, true), "a.jpg").planes, decode_image(jpeg_bytes(raster), "a.jpg").planes);
}

TEST(ImageFile, DecodesGreyJpegIntoThreeEqualPlanes) {
  const Raster raster = smooth_raster(8, 9, 1, 0);
  const DecodedImage image = decode_image(jpeg_bytes(raster), "a.jpg");
  EXPECT_TRUE(image.grey);
  expect_planes(image, raster, 4);
}

TEST(ImageFile, DecodesPngExactlyWhateverItsColourType) {
  for (const int channels : {1, 2, 3, 4}) {
    const Raster raster = smooth_raster(5, 7, channels, channels);
    const DecodedImage image = decode_image(png_bytes(raster), "a.png");
    EXPECT_EQ(image.grey, channels < 3);
    expect_planes(image, raster, 0);
  }
}

TEST(ImageFile, DropsTransparencyAndKeepsTheColour) {
  const DecodedImage image = decode_image(png_bytes({1, 2, 4, {10, 20, 30, 0, 200, 100, 50, 128}}), "a.png");
  EXPECT_EQ(image.planes, (std::vector<std::uint8_t>{10, 200, 20, 100, 30, 50}));
}

TEST(ImageFile, DecidesByTheContentAndNotByTheName) {
  const Raster raster = smooth_raster(4, 4, 3, 0);
  expect_planes(decode_image(png_bytes(raster), "photo.jpg"), raster, 0);
}

TEST(ImageFile, KnowsImagesByTheirEnding) {
  for (const char* name : {"a.jpg", "a.jpeg", "a.png", "A.JPG", "b.c.Png"})
    EXPECT_TRUE(has_image_extension(name)) << name;
  for (const char* name : {"a.txt", "jpg", ".jpg", "a.jpg.part", "a"}) EXPECT_FALSE(has_image_extension(name)) << name;
}

TEST(ImageFile, CallsATruncatedJpegByItsName) {
  const std::string bytes = jpeg_bytes(smooth_raster(32, 32, 3, 0));
  const std::string early =
      "exit 2: cannot decode train/cat/0001.jpg: the JPEG data ends early (premature end of JPEG file)";
  EXPECT_EQ(error_of([&] { decode_image(bytes.substr(0, bytes.size() / 2), "train/cat/0001.jpg"); }),
            early + replace_it);
  EXPECT_EQ(error_of([&] { decode_image(bytes.substr(0, bytes.size() - 1), "train/cat/0001.jpg"); }),
            early + replace_it);
}

TEST(ImageFile, RefusesJpegDataWithBadCodes) {
  std::string bytes = jpeg_bytes(smooth_raster(32, 32, 3, 0));
  const std::size_t middle = bytes.size() - 40;
  bytes.replace(middle, 2, "\xFF\xD9");
  EXPECT_EQ(error_of([&] { decode_image(bytes, "a.jpg"); }),
            "exit 2: cannot decode a.jpg: the JPEG data is damaged (corrupt JPEG data: premature end of data segment)" +
                replace_it);
}

TEST(ImageFile, SaysWhatJpegItCannotRead) {
  EXPECT_EQ(
      error_of([&] { decode_image(test::cmyk_jpeg_bytes(8, 8), "a.jpg"); }),
      "exit 2: cannot decode a.jpg: the JPEG data cannot be read (unsupported color conversion request)" + replace_it);
  EXPECT_EQ(
      error_of([&] { decode_image("\xFF\xD8\xFF\xD9", "a.jpg"); }),
      "exit 2: cannot decode a.jpg: the JPEG data cannot be read (JPEG datastream contains no image)" + replace_it);
}

TEST(ImageFile, ToleratesStrayBytesAfterAJpegImage) {
  const Raster raster = smooth_raster(8, 8, 3, 0);
  EXPECT_EQ(decode_image(jpeg_bytes(raster) + "camera notes", "a.jpg").planes,
            decode_image(jpeg_bytes(raster), "a.jpg").planes);
}

TEST(ImageFile, SaysTheBytesOfATruncatedPng) {
  const std::string bytes = png_bytes(smooth_raster(8, 8, 3, 0));
  EXPECT_EQ(error_of([&] { decode_image(bytes.substr(0, 30), "a.png"); }),
            "exit 2: cannot decode a.png: the PNG data ends early (30 bytes found, at least 33 needed)" + replace_it);
  EXPECT_EQ(error_of([&] { decode_image(bytes.substr(0, bytes.size() - 1), "a.png"); }),
            fmt::format("exit 2: cannot decode a.png: the PNG data ends early ({} bytes found, at least {} needed)",
                        bytes.size() - 1, bytes.size()) +
                replace_it);
}

TEST(ImageFile, RefusesAPngWhoseChecksumDoesNotMatch) {
  std::string bytes = png_bytes(smooth_raster(8, 8, 3, 0));
  const std::size_t last = bytes.find("IEND") - 9;  // of the pixel data: before it stand a length and a checksum
  bytes[last] = static_cast<char>(bytes[last] ^ 0x40);
  EXPECT_EQ(error_of([&] { decode_image(bytes, "a.png"); }),
            "exit 2: cannot decode a.png: the PNG data cannot be read (IDAT: incorrect data check)" + replace_it);
}

TEST(ImageFile, SaysWithWhichBytesAnotherKindOfFileBegins) {
  EXPECT_EQ(error_of([&] { decode_image("GIF89a, and so on", "a.jpg"); }),
            "exit 2: cannot decode a.jpg: it is neither a JPEG nor a PNG file (it begins with the bytes 47 49 46 38 39 "
            "61 2c 20)" +
                replace_it);
  EXPECT_EQ(error_of([&] { decode_image("", "a.jpg"); }),
            "exit 2: cannot decode a.jpg: the file is empty" + replace_it);
}

TEST(ImageFile, RefusesAnImageTooLargeBeforeItTakesMemory) {
  std::string bytes = jpeg_bytes(smooth_raster(8, 8, 3, 0));
  const std::size_t frame = bytes.find("\xFF\xC0");
  ASSERT_NE(frame, std::string::npos);
  bytes.replace(frame + 5, 4, "\xF0\x00\xF0\x00", 4);
  EXPECT_EQ(error_of([&] { decode_image(bytes, "a.jpg"); }),
            "exit 2: cannot decode a.jpg: 61440 x 61440 pixels found, at most 134217728 pixels allowed");
}

}  // namespace
}  // namespace kasimir
