// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/cifar.h"

#include "data_files.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

using test::cifar_record;
using test::error_of;
using test::TempFolder;

void write_cifar10(const TempFolder& folder) {
  for (int batch = 1; batch <= 5; ++batch) {
    const auto b = static_cast<std::uint8_t>(batch);
    folder.write("data_batch_" + std::to_string(batch) + ".bin",
                 cifar_record({b}, b) + cifar_record({9}, static_cast<std::uint8_t>(b + 100)));
  }
  folder.write("test_batch.bin", cifar_record({0}, 77));
  folder.write("batches.meta.txt", "airplane\nautomobile\nbird\ncat\ndeer\ndog\nfrog\nhorse\nship\ntruck\n\n");
}

void write_cifar100(const TempFolder& folder) {
  folder.write("train.bin", cifar_record({3, 99}, 1) + cifar_record({4, 0}, 2));
  folder.write("test.bin", cifar_record({19, 50}, 3));
}

TEST(Cifar, LoadsTheFilesOfCifar10InOrder) {
  const TempFolder folder;
  write_cifar10(folder);
  const Dataset data = load_cifar(folder.path());
  EXPECT_EQ(data.train.channels, 3);
  EXPECT_EQ(data.train.height, 32);
  EXPECT_EQ(data.train.width, 32);
  EXPECT_EQ(data.train.labels, (std::vector<std::int32_t>{1, 9, 2, 9, 3, 9, 4, 9, 5, 9}));
  ASSERT_EQ(data.train.pixels.size(), 10U * 3072);
  for (std::size_t i = 0; i < 3072; ++i) {
    EXPECT_EQ(data.train.image(3)[i], static_cast<std::uint8_t>(102 + i));
    EXPECT_EQ(data.test.image(0)[i], static_cast<std::uint8_t>(77 + i));
  }
  EXPECT_EQ(data.test.labels, (std::vector<std::int32_t>{0}));
  ASSERT_EQ(data.classes.size(), 10U);
  EXPECT_EQ(data.classes.front(), "airplane");
  EXPECT_EQ(data.classes.back(), "truck");
  EXPECT_EQ(data.description, "CIFAR-10 binary files in " + folder.str());
}

TEST(Cifar, LoadsTheFineLabelsOfCifar100) {
  const TempFolder folder;
  write_cifar100(folder);
  const Dataset data = load_cifar(folder.path());
  EXPECT_EQ(data.train.labels, (std::vector<std::int32_t>{99, 0}));
  EXPECT_EQ(data.test.labels, (std::vector<std::int32_t>{50}));
  EXPECT_EQ(data.train.image(1)[0], 2);
  EXPECT_EQ(data.classes.size(), 100U);
  EXPECT_EQ(data.classes[42], "42");
  EXPECT_EQ(data.description, "CIFAR-100 binary files in " + folder.str() +
                                  "; no fine_label_names.txt, so the classes are called by their numbers");
}

TEST(Cifar, NamesTheMissingFile) {
  const TempFolder folder;
  write_cifar10(folder);
  std::filesystem::remove(folder.path() / "data_batch_3.bin");
  EXPECT_EQ(error_of([&] { load_cifar(folder.path()); }),
            "exit 2: " + folder.str() +
                "/data_batch_3.bin is missing\n"
                "  found: batches.meta.txt, data_batch_1.bin, data_batch_2.bin, data_batch_4.bin, data_batch_5.bin, "
                "test_batch.bin\n"
                "  CIFAR-10 needs data_batch_1.bin, data_batch_2.bin, data_batch_3.bin, data_batch_4.bin, "
                "data_batch_5.bin and test_batch.bin");
}

TEST(Cifar, SaysTheBytesFoundAndNeeded) {
  const TempFolder ten;
  write_cifar10(ten);
  ten.write("data_batch_2.bin", cifar_record({1}, 0) + "x");
  EXPECT_EQ(error_of([&] { load_cifar(ten.path()); }),
            "exit 2: " + ten.str() +
                "/data_batch_2.bin: 3074 bytes found, a multiple of 3073 needed (1 label byte and 3 x 32 x 32 pixels "
                "an image)\n  get the file again; nothing was changed");
  const TempFolder hundred;
  write_cifar100(hundred);
  hundred.write("test.bin", "");
  EXPECT_EQ(error_of([&] { load_cifar(hundred.path()); }),
            "exit 2: " + hundred.str() +
                "/test.bin: 0 bytes found, a multiple of 3074 needed (2 label bytes and 3 x 32 x 32 pixels an image)\n"
                "  get the file again; nothing was changed");
}

TEST(Cifar, NamesTheImageWhoseLabelIsOutOfRange) {
  const TempFolder ten;
  write_cifar10(ten);
  ten.write("test_batch.bin", cifar_record({3}, 0) + cifar_record({10}, 0));
  EXPECT_EQ(error_of([&] { load_cifar(ten.path()); }),
            "exit 2: " + ten.str() +
                "/test_batch.bin: image 1 has label 10, but CIFAR-10 has the labels 0 to 9\n"
                "  get the file again; nothing was changed");
  const TempFolder hundred;
  write_cifar100(hundred);
  hundred.write("train.bin", cifar_record({0, 100}, 0));
  EXPECT_EQ(error_of([&] { load_cifar(hundred.path()); }),
            "exit 2: " + hundred.str() +
                "/train.bin: image 0 has label 100, but CIFAR-100 has the labels 0 to 99\n"
                "  get the file again; nothing was changed");
}

TEST(Cifar, CountsTheClassNames) {
  const TempFolder folder;
  write_cifar10(folder);
  folder.write("batches.meta.txt", "airplane\nautomobile\n");
  EXPECT_EQ(error_of([&] { load_cifar(folder.path()); }),
            "exit 2: " + folder.str() + "/batches.meta.txt: 2 class names found, 10 needed");
}

TEST(Cifar, RecognisesThePythonVersion) {
  const TempFolder folder;
  folder.write("data_batch_1", "pickled");
  folder.write("batches.meta", "pickled");
  EXPECT_TRUE(looks_like_cifar(folder.path()));
  EXPECT_EQ(error_of([&] { load_cifar(folder.path()); }), "exit 2: " + folder.str() +
                                                              " holds the Python version of CIFAR, which is not read\n"
                                                              "  get the binary version: its files end with .bin");
}

}  // namespace
}  // namespace kasimir
