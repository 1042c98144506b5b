// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/mask_folder.h"

#include "data_files.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kasimir {
namespace {

using test::error_of;
using test::png_bytes;
using test::Raster;
using test::smooth_raster;
using test::TempFolder;

std::string mask(std::vector<std::uint8_t> pixels) { return png_bytes({2, 3, 1, std::move(pixels)}); }

void write_good(const TempFolder& folder) {
  for (const char* part : {"train", "test"}) {
    for (int i = 0; i < 3; ++i)
      folder.write(fmt::format("{}/images/{}.png", part, i), png_bytes(smooth_raster(2, 3, 3, i)));
    folder.write(fmt::format("{}/masks/0.png", part), mask({0, 1, 2, 0, 0, 0}));
    folder.write(fmt::format("{}/masks/1.png", part), mask({1, 1, 1, 1, 1, 1}));
    folder.write(fmt::format("{}/masks/2.png", part), mask({0, 0, 0, 0, 0, 2}));
  }
}

std::string failure(const TempFolder& folder) {
  std::string text = error_of([&] { load_dataset(folder.str(), {}); });
  for (std::size_t at = text.find(folder.str()); at != std::string::npos; at = text.find(folder.str()))
    text.replace(at, folder.str().size(), "TMP");
  return text;
}

TEST(MaskFolder, PairsPicturesWithMasksOfEqualStems) {
  const TempFolder folder;
  write_good(folder);
  const Dataset data = load_dataset(folder.str(), {});
  EXPECT_EQ(data.target, TargetKind::masks);
  EXPECT_EQ(data.classes.size(), 3U);
  EXPECT_EQ(data.train.size(), 3);
  EXPECT_EQ(data.train.masks, (std::vector<std::uint8_t>{0, 1, 2, 0, 0, 0, 1, 1, 1, 1, 1, 1, 0, 0, 0, 0, 0, 2}));
  EXPECT_EQ(data.description, "images and masks in " + folder.str());
  const Dataset large = load_dataset(folder.str(), {.resize = ImageSize{4, 6}});
  EXPECT_EQ(large.train.masks.size(), 72U);
  EXPECT_TRUE(std::equal(large.train.masks.begin(), large.train.masks.begin() + 6,
                         std::vector<std::uint8_t>{0, 0, 1, 1, 2, 2}.begin()));
}

TEST(MaskFolder, SetsAPartApartAndTakesBlackAndWhiteAsTwoClasses) {
  const TempFolder folder;
  for (int i = 0; i < 5; ++i) {
    folder.write(fmt::format("images/{}.png", i), png_bytes(smooth_raster(2, 3, 3, i)));
    folder.write(fmt::format("masks/{}.png", i), mask({0, 255, 0, 0, 0, 255}));
  }
  const Dataset data = load_dataset(folder.str(), {});
  EXPECT_EQ(data.train.size(), 4);
  EXPECT_EQ(data.test.masks, (std::vector<std::uint8_t>{0, 1, 0, 0, 0, 1}));
  EXPECT_EQ(data.description,
            "images and masks in " + folder.str() +
                "; without a test part, so every fifth image is set apart for it (seed 1); masks of 0 and 255 are "
                "classes 0 and 1");
}

TEST(MaskFolder, SaysWhatIsWrong) {
  const TempFolder folder;
  write_good(folder);
  folder.write("train/masks/1.png", png_bytes(smooth_raster(2, 3, 3, 1)));
  folder.write("train/masks/2.png", png_bytes({1, 3, 1, {0, 1, 2}}));
  EXPECT_EQ(failure(folder),
            "exit 2: TMP: 2 of 6 images cannot be read\n"
            "  TMP/train/masks/1.png has colour: a mask is grey, its pixels are classes\n"
            "  TMP/train/masks/2.png is 1 x 3 pixels, but TMP/train/images/2.png is 2 x 3\n"
            "  remove or replace them, or go on without them: --skip-corrupt; nothing was changed");
  const Dataset rest = load_dataset(folder.str(), {.skip_corrupt = true});
  EXPECT_EQ(rest.train.masks, (std::vector<std::uint8_t>{0, 1, 2, 0, 0, 0}));
  std::filesystem::remove(folder.path() / "train/masks/1.png");
  EXPECT_EQ(failure(folder), "exit 2: TMP/train/images/1.png has no mask: TMP/train/masks/1 with .png is needed");
  folder.write("train/masks/7.png", mask({0, 0, 0, 0, 0, 0}));
  std::filesystem::remove(folder.path() / "train/images/1.png");
  EXPECT_EQ(failure(folder),
            "exit 2: TMP/train/masks/7.png has no picture: TMP/train/images/7 with .jpg, .jpeg or .png is needed");
}

}  // namespace
}  // namespace kasimir
