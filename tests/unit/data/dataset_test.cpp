// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/dataset.h"

#include "data_files.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kasimir {
namespace {

using test::cifar_record;
using test::error_of;
using test::gzip_bytes;
using test::idx_bytes;
using test::TempFolder;
using test::understood_line;

constexpr std::uint32_t images_magic = 0x803;
constexpr std::uint32_t labels_magic = 0x801;

/// As many training and test images of 2 x 2 pixels as classes, one of each, in `folder`.
void write_idx(const TempFolder& root, const std::string& folder, std::uint32_t classes) {
  std::vector<std::uint8_t> labels;
  for (std::uint32_t c = 0; c < classes; ++c) labels.push_back(static_cast<std::uint8_t>(c));
  const std::vector<std::uint8_t> pixels(std::size_t{4} * classes, 80);
  for (const char* part : {"train", "t10k"}) {
    root.write(folder + "/" + part + "-images-idx3-ubyte.gz",
               gzip_bytes(idx_bytes(images_magic, {classes, 2, 2}, pixels)));
    root.write(folder + "/" + part + "-labels-idx1-ubyte.gz", gzip_bytes(idx_bytes(labels_magic, {classes}, labels)));
  }
}

std::string failure(const std::string& where, const LoadOptions& options = {}) {
  return error_of([&] { load_dataset(where, options); });
}

TEST(Dataset, FindsFashionMnistWhereThePackagePutsIt) {
  const TempFolder root;
  write_idx(root, "fashion-mnist", 10);
  const Dataset data = load_dataset("fashion-mnist", {.builtin_root = root.path()});
  EXPECT_EQ(data.name, "fashion-mnist");
  EXPECT_EQ(data.description, "Fashion-MNIST, IDX files in " + root.str() + "/fashion-mnist");
  EXPECT_EQ(data.classes[9], "ankle boot");
  EXPECT_EQ(data.train.size(), 10);
}

TEST(Dataset, TellsHowToInstallFashionMnist) {
  const TempFolder root;
  EXPECT_EQ(failure("fashion-mnist", {.builtin_root = root.path()}),
            "exit 2: fashion-mnist is not installed: " + root.str() +
                "/fashion-mnist has no IDX files\n"
                "  install it with `apt-get install dataset-fashion-mnist` or `make setup`");
  write_idx(root, "fashion-mnist", 7);
  EXPECT_EQ(failure("fashion-mnist", {.builtin_root = root.path()}),
            "exit 2: " + root.str() +
                "/fashion-mnist: 7 classes found, Fashion-MNIST has 10\n"
                "  install it again with `apt-get install --reinstall dataset-fashion-mnist`");
}

TEST(Dataset, AnswersAnUnknownNameWithTheNearOnes) {
  EXPECT_EQ(failure("fashon-mnist"),
            "exit 2: no data set `fashon-mnist`: it is neither a built-in name nor a folder that exists\n"
            "  did you mean `fashion-mnist`?" +
                understood_line);
  EXPECT_EQ(failure("zzzzzzzzzzzzzzzzzzz"),
            "exit 2: no data set `zzzzzzzzzzzzzzzzzzz`: it is neither a built-in name nor a folder that exists" +
                understood_line);
  EXPECT_EQ(failure(""),
            "exit 2: no data set ``: it is neither a built-in name nor a folder that exists" + understood_line);
}

TEST(Dataset, AnswersAnUnknownPathWithTheNearFolders) {
  const TempFolder root;
  std::filesystem::create_directories(root.path() / "cifar10");
  root.write("cifar11", "a file is not suggested");
  for (const char* slash : {"", "/"})
    EXPECT_EQ(failure(root.str() + "/cifra10" + slash),
              "exit 2: no data set `" + root.str() + "/cifra10" + slash +
                  "`: it is neither a built-in name nor a folder that exists\n"
                  "  did you mean `" +
                  root.str() + "/cifar10`?" + understood_line);
}

TEST(Dataset, WantsAFolderAndNotAnArchive) {
  const TempFolder root;
  root.write("cifar.tar.gz", "x");
  root.write("cifar.bin", "x");
  EXPECT_EQ(failure(root.str() + "/cifar.tar.gz"),
            "exit 2: " + root.str() +
                "/cifar.tar.gz is a file, a folder is needed\n"
                "  shards are read where they are not packed: gunzip it, or extract the archive and give the folder" +
                understood_line);
  EXPECT_EQ(failure(root.str() + "/cifar.bin"),
            "exit 2: " + root.str() + "/cifar.bin is a file, a folder is needed" + understood_line);
}

TEST(Dataset, SaysWhatAFolderHoldsThatItDoesNotUnderstand) {
  const TempFolder root;
  EXPECT_EQ(failure(root.str()), "exit 2: " + root.str() + " is an empty folder" + understood_line);
  for (int i = 1; i <= 9; ++i) root.write("part" + std::to_string(i), "x");
  EXPECT_EQ(failure(root.str()), "exit 2: " + root.str() +
                                     " holds no data set that kasimir understands\n"
                                     "  found: part1, part2, part3, part4, part5, part6 and 3 more" +
                                     understood_line);
  write_idx(root, "inner", 2);
  EXPECT_EQ(failure(root.str()), "exit 2: " + root.str() +
                                     " holds no data set that kasimir understands\n"
                                     "  found: inner/, part1, part2, part3, part4, part5 and 4 more\n"
                                     "  did you mean `" +
                                     root.str() + "/inner`?" + understood_line);
}

TEST(Dataset, NamesAFolderThatCannotBeFollowed) {
  const TempFolder root;
  std::filesystem::create_symlink("train", root.path() / "train");
  EXPECT_EQ(failure(root.str()), "exit 2: cannot read " + root.str() + "/train: Too many levels of symbolic links");
}

TEST(Dataset, RecognisesEachLayout) {
  const TempFolder root;
  write_idx(root, "idx", 3);
  root.write("cifar/train.bin", cifar_record({0, 1}, 0));
  root.write("cifar/test.bin", cifar_record({0, 2}, 0));
  EXPECT_EQ(load_dataset(root.str() + "/idx/", {}).classes.size(), 3U);
  EXPECT_EQ(load_dataset(root.str() + "/idx/", {}).name, "idx");
  EXPECT_EQ(load_dataset(root.str() + "/cifar", {}).classes.size(), 100U);
  EXPECT_EQ(load_dataset(root.str() + "/idx/../cifar/.", {}).name, "cifar");
}

TEST(Dataset, LimitsAndScalesAnyLayout) {
  const TempFolder root;
  const auto labels = std::vector<std::uint8_t>{0, 1, 0, 1, 0, 1, 0, 1};
  root.write("train-images-idx3-ubyte", idx_bytes(images_magic, {8, 2, 2}, std::vector<std::uint8_t>(32, 7)));
  root.write("train-labels-idx1-ubyte", idx_bytes(labels_magic, {8}, labels));
  root.write("t10k-images-idx3-ubyte", idx_bytes(images_magic, {2, 2, 2}, std::vector<std::uint8_t>(8, 9)));
  root.write("t10k-labels-idx1-ubyte", idx_bytes(labels_magic, {2}, {1, 0}));
  const Dataset data = load_dataset(root.str(), {.resize = ImageSize{3, 5}, .train_limit = 4});
  EXPECT_EQ(data.train.pixels, std::vector<std::uint8_t>(60, 7));
  EXPECT_EQ(std::ranges::count(data.train.labels, 0), 2);
  EXPECT_EQ(std::ranges::count(data.train.labels, 1), 2);
  EXPECT_EQ(data.test.pixels, std::vector<std::uint8_t>(30, 9));
  EXPECT_EQ(data.description, "IDX files in " + root.str() +
                                  "; scaled to 3 x 5 pixels; limited to 4 training and 2 test images (seed 1)");
  EXPECT_EQ(failure(root.str(), {.test_limit = 1}),
            "exit 2: a limit of 1 test images is too low for 2 classes\n  at least 2 are needed");
  EXPECT_EQ(failure(root.str(), {.resize = ImageSize{0, 4}}),
            "exit 2: cannot scale images to 0 x 4 pixels: both must be at least 1");
}

TEST(Dataset, FingerprintFollowsTheContentOnly) {
  const TempFolder one;
  const TempFolder two;
  write_idx(one, "a", 3);
  write_idx(two, "b", 3);
  const std::string print = load_dataset(one.str() + "/a", {}).fingerprint;
  EXPECT_EQ(print.size(), 16U);
  EXPECT_EQ(load_dataset(two.str() + "/b", {}).fingerprint, print);
  two.write("b/t10k-labels-idx1-ubyte.gz", gzip_bytes(idx_bytes(labels_magic, {3}, {0, 1, 1})));
  EXPECT_NE(load_dataset(two.str() + "/b", {}).fingerprint, print);
  write_idx(two, "b", 3);
  std::vector<std::uint8_t> pixels(12, 80);
  pixels[11] = 81;
  two.write("b/train-images-idx3-ubyte.gz", gzip_bytes(idx_bytes(images_magic, {3, 2, 2}, pixels)));
  EXPECT_NE(load_dataset(two.str() + "/b", {}).fingerprint, print);
}

}  // namespace
}  // namespace kasimir
