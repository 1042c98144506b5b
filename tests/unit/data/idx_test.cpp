// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/idx.h"

#include "data_files.h"

#include <gtest/gtest.h>

#include <numeric>

namespace kasimir {
namespace {

using test::error_of;
using test::gzip_bytes;
using test::idx_bytes;
using test::TempFolder;

constexpr std::uint32_t images_magic = 0x803;
constexpr std::uint32_t labels_magic = 0x801;

std::vector<std::uint8_t> counting(std::size_t count, std::uint8_t first) {
  std::vector<std::uint8_t> values(count);
  std::iota(values.begin(), values.end(), first);
  return values;
}

/// Three training images and two test images of 2 x 3 pixels in three classes.
void write_good(const TempFolder& folder) {
  folder.write("train-images-idx3-ubyte", idx_bytes(images_magic, {3, 2, 3}, counting(18, 250)));
  folder.write("train-labels-idx1-ubyte", idx_bytes(labels_magic, {3}, {0, 2, 1}));
  folder.write("t10k-images-idx3-ubyte", idx_bytes(images_magic, {2, 2, 3}, counting(12, 100)));
  folder.write("t10k-labels-idx1-ubyte", idx_bytes(labels_magic, {2}, {1, 1}));
}

TEST(Idx, LoadsPixelsLabelsAndClasses) {
  const TempFolder folder;
  write_good(folder);
  const Dataset data = load_idx(folder.path());
  EXPECT_EQ(data.train.channels, 1);
  EXPECT_EQ(data.train.height, 2);
  EXPECT_EQ(data.train.width, 3);
  EXPECT_EQ(data.train.pixels, counting(18, 250));
  EXPECT_EQ(data.train.labels, (std::vector<std::int32_t>{0, 2, 1}));
  EXPECT_EQ(data.test.pixels, counting(12, 100));
  EXPECT_EQ(data.test.labels, (std::vector<std::int32_t>{1, 1}));
  EXPECT_EQ(data.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(data.description, "IDX files in " + folder.str());
}

TEST(Idx, LoadsPackedFilesAndTheOtherSpellings) {
  const TempFolder plain;
  write_good(plain);
  const TempFolder folder;
  folder.write("train-images.idx3-ubyte.gz", gzip_bytes(idx_bytes(images_magic, {3, 2, 3}, counting(18, 250))));
  folder.write("train-labels-idx1-ubyte.gz", gzip_bytes(idx_bytes(labels_magic, {3}, {0, 2, 1})));
  folder.write("test-images-idx3-ubyte", idx_bytes(images_magic, {2, 2, 3}, counting(12, 100)));
  folder.write("test-labels.idx1-ubyte", idx_bytes(labels_magic, {2}, {1, 1}));
  EXPECT_EQ(load_idx(folder.path()).train, load_idx(plain.path()).train);
  EXPECT_EQ(load_idx(folder.path()).test, load_idx(plain.path()).test);
}

TEST(Idx, NamesTheMissingFile) {
  const TempFolder folder;
  write_good(folder);
  std::filesystem::remove(folder.path() / "t10k-labels-idx1-ubyte");
  EXPECT_EQ(error_of([&] { load_idx(folder.path()); }),
            "exit 2: " + folder.str() +
                " has no t10k-labels-idx1-ubyte (nor the same with .gz)\n"
                "  found: t10k-images-idx3-ubyte, train-images-idx3-ubyte, train-labels-idx1-ubyte\n"
                "  IDX data has images (idx3) and labels (idx1), for training (train-..) and for testing "
                "(t10k-.. or test-..)");
}

struct BadIdx {
  std::string file;
  std::string content;
  std::string text;  // after the path of the folder
};

TEST(Idx, SaysWhatIsWrongWithAFile) {
  const std::string again = "\n  get the file again; nothing was changed";
  const std::vector<BadIdx> cases = {
      {"train-images-idx3-ubyte", idx_bytes(images_magic, {3, 2, 3}, counting(17, 0)),
       "/train-images-idx3-ubyte: 33 bytes found, 34 needed (a header of 16 bytes and 3 x 2 x 3 elements)" + again},
      {"train-images-idx3-ubyte", idx_bytes(images_magic, {3, 2, 3}, counting(20, 0)),
       "/train-images-idx3-ubyte: 36 bytes found, 34 needed (a header of 16 bytes and 3 x 2 x 3 elements)" + again},
      {"t10k-labels-idx1-ubyte", idx_bytes(labels_magic, {2}, {1}),
       "/t10k-labels-idx1-ubyte: 9 bytes found, 10 needed (a header of 8 bytes and 2 elements)" + again},
      {"train-images-idx3-ubyte", "", "/train-images-idx3-ubyte: 0 bytes found, 16 needed for the header" + again},
      {"train-images-idx3-ubyte", idx_bytes(labels_magic, {12}, counting(12, 0)),
       "/train-images-idx3-ubyte: magic number 0x00000801 found, 0x00000803 needed (unsigned bytes in 3 dimensions)"},
      {"train-labels-idx1-ubyte", idx_bytes(0xD01, {3}, {0, 2, 1}),
       "/train-labels-idx1-ubyte: magic number 0x00000d01 found, 0x00000801 needed (unsigned bytes in 1 dimension)"},
      {"train-images-idx3-ubyte", idx_bytes(images_magic, {3, 0, 3}, {}),
       "/train-images-idx3-ubyte: dimension 1 is 0, so the file holds no data"},
      {"train-images-idx3-ubyte", idx_bytes(images_magic, {0xFFFFFFFF, 0xFFFFFFFF, 0xFFFFFFFF}, {}),
       "/train-images-idx3-ubyte: images of 4294967295 pixels a side found, at most 65535 allowed"},
      {"train-images-idx3-ubyte", idx_bytes(images_magic, {0xFFFFFFFF, 0xFFFF, 0xFFFF}, {}),
       "/train-images-idx3-ubyte: 16 bytes found, 18446181123756261391 needed (a header of 16 bytes and "
       "4294967295 x 65535 x 65535 elements)" +
           again},
  };
  for (const BadIdx& bad : cases) {
    const TempFolder folder;
    write_good(folder);
    folder.write(bad.file, bad.content);
    EXPECT_EQ(error_of([&] { load_idx(folder.path()); }), "exit 2: " + folder.str() + bad.text);
  }
}

TEST(Idx, RefusesFilesThatDoNotBelongTogether) {
  const TempFolder folder;
  write_good(folder);
  const std::string dir = folder.str();
  folder.write("train-labels-idx1-ubyte", idx_bytes(labels_magic, {4}, {0, 2, 1, 1}));
  EXPECT_EQ(error_of([&] { load_idx(folder.path()); }),
            "exit 2: " + dir + "/train-labels-idx1-ubyte holds 4 labels, but " + dir +
                "/train-images-idx3-ubyte holds 3 images\n  the two files do not belong together");
  write_good(folder);
  folder.write("t10k-images-idx3-ubyte", idx_bytes(images_magic, {2, 3, 2}, counting(12, 0)));
  EXPECT_EQ(error_of([&] { load_idx(folder.path()); }),
            "exit 2: " + dir + ": the test images are 3 x 2 pixels, but the training images are 2 x 3");
  write_good(folder);
  folder.write("t10k-labels-idx1-ubyte", idx_bytes(labels_magic, {2}, {1, 7}));
  EXPECT_EQ(error_of([&] { load_idx(folder.path()); }),
            "exit 2: " + dir + ": the test part has label 7, but the greatest label of the training part is 2");
}

}  // namespace
}  // namespace kasimir
