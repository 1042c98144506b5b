// SPDX-License-Identifier: Apache-2.0
#include "data_files.h"

#include "kasimir/data/dataset.h"
#include "kasimir/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kasimir {
namespace {

using test::error_of;
using test::jpeg_bytes;
using test::png_bytes;
using test::Raster;
using test::smooth_raster;
using test::TempFolder;

const std::string layout_line = "\n  images go into train/<class>/ and test/<class>/";

Dataset load(const TempFolder& folder, const LoadOptions& options = {}) { return load_dataset(folder.str(), options); }

std::string failure(const TempFolder& folder, const LoadOptions& options = {}) {
  return error_of([&] { load(folder, options); });
}

/// Colour PNG files of 4 x 5 pixels: `train` and `test` of them in each of the classes cat and dog.
void write_good(const TempFolder& folder, int train, int test) {
  int variant = 0;
  for (const char* name : {"dog", "cat"}) {
    for (int i = 0; i < train; ++i)
      folder.write(fmt::format("train/{}/{:04}.png", name, i), png_bytes(smooth_raster(4, 5, 3, variant++)));
    for (int i = 0; i < test; ++i)
      folder.write(fmt::format("test/{}/{:04}.png", name, i), png_bytes(smooth_raster(4, 5, 3, variant++)));
  }
}

TEST(Folder, OrdersClassesAndFilesByTheirNames) {
  const TempFolder folder;
  folder.write("train/b/10.png", png_bytes({1, 1, 3, {1, 2, 3}}));
  folder.write("train/b/9.png", png_bytes({1, 1, 3, {4, 5, 6}}));
  folder.write("train/B/x.png", png_bytes({1, 1, 3, {7, 8, 9}}));
  folder.write("test/b/x.png", png_bytes({1, 1, 3, {10, 11, 12}}));
  folder.write("test/B/x.png", png_bytes({1, 1, 3, {13, 14, 15}}));
  const Dataset data = load(folder);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"B", "b"}));
  EXPECT_EQ(data.train.labels, (std::vector<std::int32_t>{0, 1, 1}));
  EXPECT_EQ(data.train.pixels, (std::vector<std::uint8_t>{7, 8, 9, 1, 2, 3, 4, 5, 6}));
  EXPECT_EQ(data.test.labels, (std::vector<std::int32_t>{0, 1}));
  EXPECT_EQ(data.test.pixels, (std::vector<std::uint8_t>{13, 14, 15, 10, 11, 12}));
  EXPECT_EQ(data.name, folder.path().filename().string());
  EXPECT_EQ(data.description, "image folders in " + folder.str());
}

TEST(Folder, StoresPlanesOfRowsForEachImage) {
  const TempFolder folder;
  write_good(folder, 2, 1);
  const Dataset data = load(folder);
  EXPECT_EQ(data.train.channels, 3);
  EXPECT_EQ(data.train.height, 4);
  EXPECT_EQ(data.train.width, 5);
  const Raster raster = smooth_raster(4, 5, 3, 4);  // the second cat of the training part
  for (std::size_t c = 0; c < 3; ++c) {
    for (std::size_t i = 0; i < 20; ++i) EXPECT_EQ(data.train.image(1)[c * 20 + i], raster.pixels[i * 3 + c]);
  }
}

TEST(Folder, HasOneChannelOnlyIfNoImageHasColour) {
  const TempFolder folder;
  for (const char* part : {"train", "test"}) {
    folder.write(fmt::format("{}/a/1.jpg", part), jpeg_bytes(smooth_raster(6, 6, 1, 1)));
    folder.write(fmt::format("{}/b/1.png", part), png_bytes(smooth_raster(6, 6, 1, 2)));
  }
  const Dataset grey = load(folder);
  EXPECT_EQ(grey.train.channels, 1);
  EXPECT_EQ(grey.test.channels, 1);
  const Raster second = smooth_raster(6, 6, 1, 2);
  EXPECT_TRUE(std::ranges::equal(grey.train.image(1), second.pixels));
  EXPECT_TRUE(std::ranges::equal(grey.test.image(1), second.pixels));
  folder.write("test/b/2.png", png_bytes(smooth_raster(6, 6, 3, 0)));
  const Dataset colour = load(folder);
  EXPECT_EQ(colour.train.channels, 3);
  for (std::size_t c = 0; c < 3; ++c)
    EXPECT_TRUE(std::ranges::equal(colour.train.image(1).subspan(c * 36, 36), second.pixels));
}

TEST(Folder, IsTheSameOnAnyNumberOfThreads) {
  const TempFolder folder;
  write_good(folder, 40, 20);
  const Dataset one = load(folder, {.threads = 1});
  for (const int threads : {0, 2, 3, 7}) {
    const Dataset many = load(folder, {.threads = threads});
    EXPECT_EQ(many.train, one.train);
    EXPECT_EQ(many.test, one.test);
    EXPECT_EQ(many.fingerprint, one.fingerprint);
  }
}

constexpr const char* skip_line =
    "\n  remove or replace them, or go on without them: --skip-corrupt; nothing was changed";
constexpr const char* rubbish_line =
    ": it is neither a JPEG nor a PNG file (it begins with the bytes 72 75 62 62 69 73 68 21)";

TEST(Folder, ListsDamagedFilesInOrderOnAnyNumberOfThreads) {
  const TempFolder folder;
  write_good(folder, 40, 20);
  std::string lines;
  for (const char* name : {"train/cat/0030.png", "train/dog/0002.png", "train/dog/0039.png", "test/cat/0000.png"}) {
    folder.write(name, "rubbish!");
    lines += "\n  cannot decode " + folder.str() + "/" + name + rubbish_line;
  }
  for (const int threads : {1, 2, 5})
    EXPECT_EQ(failure(folder, {.threads = threads}),
              "exit 2: " + folder.str() + ": 4 of 120 images cannot be read" + lines + skip_line);
}

TEST(Folder, ListsTenDamagedFilesAndCountsTheOthers) {
  const TempFolder folder;
  write_good(folder, 40, 20);
  std::string lines;
  for (int i = 10; i < 23; ++i) {
    const std::string name = fmt::format("train/dog/{:04}.png", i);
    folder.write(name, "rubbish!");
    if (i < 20) lines += "\n  cannot decode " + folder.str() + "/" + name + rubbish_line;
  }
  EXPECT_EQ(failure(folder),
            "exit 2: " + folder.str() + ": 13 of 120 images cannot be read" + lines + "\n  and 3 more" + skip_line);
}

TEST(Folder, GoesOnWithoutDamagedFilesIfAsked) {
  const TempFolder folder;
  write_good(folder, 4, 2);
  const Dataset all = load(folder);
  folder.write("train/cat/0000.png", "rubbish!");  // the first of all, which decides the size
  folder.write("test/dog/0001.png", "");
  for (const std::int64_t limit : {std::int64_t{1} << 30, std::int64_t{0}}) {
    const Dataset data = load(folder, {.memory_limit = limit, .skip_corrupt = true});
    EXPECT_EQ(data.corrupt.count, 2);
    ASSERT_EQ(data.corrupt.first.size(), 2U);
    EXPECT_EQ(data.corrupt.first[0].name, folder.str() + "/train/cat/0000.png");
    EXPECT_EQ(data.corrupt.first[1].reason, "cannot decode " + folder.str() + "/test/dog/0001.png: the file is empty");
    EXPECT_EQ(data.train.size(), 7);
    EXPECT_EQ(data.test.size(), 3);
    const std::vector<std::int32_t> first{0};
    EXPECT_TRUE(std::ranges::equal(select_images(data.train, first).pixels, all.train.image(1)));
  }
}

TEST(Folder, RefusesAPartOfWhichNothingIsLeft) {
  const TempFolder folder;
  write_good(folder, 2, 1);
  for (const char* name : {"test/cat/0000.png", "test/dog/0000.png"}) folder.write(name, "rubbish!");
  EXPECT_EQ(failure(folder, {.skip_corrupt = true}), "exit 2: " + folder.str() + ": no test image of 2 can be read");
}

TEST(Folder, NamesTheTruncatedFile) {
  const TempFolder folder;
  write_good(folder, 2, 1);
  const std::string whole = jpeg_bytes(smooth_raster(4, 5, 3, 0));
  folder.write("train/cat/0001.jpg", whole.substr(0, whole.size() - 20));
  EXPECT_EQ(failure(folder),
            "exit 2: " + folder.str() + ": 1 of 7 images cannot be read\n  cannot decode " + folder.str() +
                "/train/cat/0001.jpg: the JPEG data ends early (premature end of JPEG file)" + skip_line);
}

TEST(Folder, CountsWhatItIgnores) {
  const TempFolder folder;
  write_good(folder, 1, 1);
  folder.write("train/cat/notes.txt", "x");
  folder.write("train/dog/more.txt", "x");
  folder.write("train/dog/old/0001.png", "x");
  folder.write("test/Thumbs.db", "x");
  folder.write("test/.hidden", "x");
  EXPECT_EQ(
      load(folder).description,
      "image folders in " + folder.str() +
          "; ignored 5 entries that are neither JPEG nor PNG files: 1 .db, 2 .txt, 1 folder, 1 without extension");
}

TEST(Folder, SaysWhichPartIsMissing) {
  const TempFolder folder;
  folder.write("train/cat/1.png", png_bytes(smooth_raster(2, 2, 3, 0)));
  folder.write("train/dog/1.png", png_bytes(smooth_raster(2, 2, 3, 0)));
  folder.write("val/cat/1.png", "x");
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() + " has no folder test/\n  found: train/, val/" + layout_line);
  std::filesystem::rename(folder.path() / "train", folder.path() / "test");
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() + " has no folder train/\n  found: test/, val/" + layout_line);
}

TEST(Folder, NeedsTwoClasses) {
  const TempFolder folder;
  std::filesystem::create_directories(folder.path() / "train");
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() +
                                 "/train has 0 class folders, at least 2 needed\n  the folder is empty" + layout_line);
  folder.write("train/0001.png", "x");
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() +
                                 "/train has 0 class folders, at least 2 needed\n  found: 0001.png" + layout_line);
  folder.write("train/cat/0001.png", "x");
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() +
                                 "/train has 1 class folder, at least 2 needed\n  found: 0001.png, cat/" + layout_line);
}

TEST(Folder, NamesTheClassWithoutImages) {
  const TempFolder folder;
  write_good(folder, 1, 1);
  std::filesystem::create_directories(folder.path() / "train/ant");
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() +
                                 "/train/ant holds no JPEG or PNG file (.jpg, .jpeg, .png)\n  the folder is empty\n"
                                 "  each class needs images: add some, or remove the folder");
  folder.write("train/ant/1.gif", "x");
  folder.write("train/ant/2.gif", "x");
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() +
                                 "/train/ant holds no JPEG or PNG file (.jpg, .jpeg, .png)\n  found: 1.gif, 2.gif\n"
                                 "  each class needs images: add some, or remove the folder");
}

TEST(Folder, ComparesTheClassesOfTrainAndTest) {
  const TempFolder folder;
  write_good(folder, 1, 1);
  folder.write("train/horse/1.png", png_bytes(smooth_raster(4, 5, 3, 0)));
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() +
                                 "/train/horse has no counterpart in test/: the classes of both must be the same\n"
                                 "  add test/horse with its images, or remove train/horse");
  folder.write("test/hors/1.png", png_bytes(smooth_raster(4, 5, 3, 0)));
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() +
                                 "/test/hors has no counterpart in train/: the classes of both must be the same\n"
                                 "  did you mean `horse`?");
}

TEST(Folder, RefusesImagesOfDifferentSizesUnlessAskedToScale) {
  const TempFolder folder;
  write_good(folder, 2, 1);
  folder.write("test/dog/0000.png", png_bytes({2, 3, 3, std::vector<std::uint8_t>(18, 99)}));
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() + "/test/dog/0000.png is 2 x 3 pixels, but " + folder.str() +
                                 "/train/cat/0000.png is 4 x 5: all images must have one size\n"
                                 "  give a size to scale all images to (--image-size 64x64), or remove or replace the "
                                 "file");
  const Dataset data = load(folder, {.resize = ImageSize{6, 7}});
  EXPECT_EQ(data.train.height, 6);
  EXPECT_EQ(data.train.width, 7);
  EXPECT_TRUE(std::ranges::all_of(data.test.image(1), [](int value) { return value == 99; }));
  EXPECT_EQ(data.description, "image folders in " + folder.str() + "; scaled to 6 x 7 pixels");
}

TEST(Folder, DecodesOnlyWhatTheLimitKeeps) {
  const TempFolder folder;
  write_good(folder, 30, 10);
  const Dataset data = load(folder, {.train_limit = 20, .test_limit = 4});
  EXPECT_EQ(data.train.size(), 20);
  EXPECT_EQ(std::ranges::count(data.train.labels, 0), 10);
  EXPECT_EQ(data.test.size(), 4);
  EXPECT_EQ(data.description,
            "image folders in " + folder.str() + "; limited to 20 training and 4 test images (seed 1)");
  EXPECT_EQ(load(folder, {.train_limit = 20, .test_limit = 4}).fingerprint, data.fingerprint);
  EXPECT_NE(load(folder, {.train_limit = 20, .test_limit = 4, .seed = 2}).fingerprint, data.fingerprint);
  EXPECT_EQ(failure(folder, {.train_limit = 1}),
            "exit 2: a limit of 1 training images is too low for 2 classes\n  at least 2 are needed");
}

TEST(Folder, StreamsWhatDoesNotFitIntoMemoryAndIsTheSame) {
  const TempFolder folder;
  write_good(folder, 3, 1);
  for (const bool grey : {false, true}) {
    if (grey)
      for (const auto& entry : std::filesystem::recursive_directory_iterator(folder.path()))
        if (entry.is_regular_file())
          folder.write(entry.path(), png_bytes(smooth_raster(4, 5, 1, static_cast<int>(entry.path().native().back()))));
    const Dataset whole = load(folder);
    const Dataset streamed = load(folder, {.memory_limit = 400});
    ASSERT_NE(streamed.train.stream, nullptr);
    EXPECT_EQ(whole.train.stream, nullptr);
    EXPECT_TRUE(streamed.train.pixels.empty());
    EXPECT_EQ(streamed.description, "image folders in " + folder.str() + "; streamed");
    EXPECT_EQ(streamed.fingerprint, whole.fingerprint);
    EXPECT_EQ(streamed.train.channels, grey ? 1 : 3);
    const std::vector<std::int32_t> some{5, 0, 3, 3};
    EXPECT_EQ(select_images(streamed.train, some), select_images(whole.train, some));
    const ChannelStatistics a = channel_statistics(streamed.train, some);
    const ChannelStatistics b = channel_statistics(whole.train, some);
    EXPECT_EQ(a.mean, b.mean);
    EXPECT_EQ(a.deviation, b.deviation);
  }
}

TEST(Folder, SaysWhichFileIsGoneWhileItIsStreamed) {
  const TempFolder folder;
  write_good(folder, 3, 1);
  const Dataset streamed = load(folder, {.memory_limit = 0});
  std::filesystem::remove(folder.path() / "train/cat/0001.png");
  const std::vector<std::int32_t> second{1};
  EXPECT_EQ(error_of([&] { select_images(streamed.train, second); }),
            "exit 2: cannot read " + folder.str() + "/train/cat/0001.png: No such file or directory");
}

TEST(Folder, ReportsProgressAndStopsWhenTheReportThrows) {
  const TempFolder folder;
  write_good(folder, 3, 1);
  std::vector<std::pair<std::int64_t, std::int64_t>> reports;
  load_dataset(folder.str(), {}, [&](std::int64_t done, std::int64_t total) { reports.emplace_back(done, total); });
  ASSERT_FALSE(reports.empty());
  EXPECT_TRUE(std::ranges::is_sorted(reports));
  EXPECT_EQ(reports.front(), (std::pair<std::int64_t, std::int64_t>{6, 8}));
  EXPECT_EQ(reports.back(), (std::pair<std::int64_t, std::int64_t>{8, 8}));
  EXPECT_EQ(error_of([&] {
              load_dataset(folder.str(), {}, [](std::int64_t, std::int64_t) { throw system_error("cancelled"); });
            }),
            "exit 4: cancelled");
}

TEST(Folder, NamesABrokenLink) {
  const TempFolder folder;
  write_good(folder, 1, 1);
  std::filesystem::create_symlink("nowhere", folder.path() / "train/cat/0002.png");
  EXPECT_EQ(failure(folder), "exit 2: " + folder.str() + ": 1 of 5 images cannot be read\n  cannot read " +
                                 folder.str() + "/train/cat/0002.png: No such file or directory" + skip_line);
}

}  // namespace
}  // namespace kasimir
