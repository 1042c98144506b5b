// SPDX-License-Identifier: Apache-2.0
#include "archive_files.h"
#include "data_files.h"

#include "kasimir/base/rng.h"
#include "kasimir/data/dataset.h"
#include "kasimir/data/npy.h"
#include "kasimir/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

namespace kasimir {
namespace {

using test::Entries;
using test::error_of;
using test::npy_bytes;
using test::raw_bytes;
using test::TempFolder;
using test::zip_bytes;

using Bytes = std::vector<std::uint8_t>;

Bytes counted(std::size_t count, int step) {
  Bytes all;
  for (std::size_t i = 0; i < count; ++i) all.push_back(static_cast<std::uint8_t>(step * static_cast<int>(i)));
  return all;
}

std::string images_npy(int count) {
  return npy_bytes("|u1", fmt::format("({}, 2, 3)", count), raw_bytes(counted(static_cast<std::size_t>(count) * 6, 7)));
}
std::string labels_npy(const std::vector<std::int64_t>& labels) {
  return npy_bytes("<i8", fmt::format("({},)", labels.size()), raw_bytes(labels));
}

Entries four_arrays() {
  return {{"x_train.npy", images_npy(4)},
          {"y_train.npy", labels_npy({0, 1, 2, 1})},
          {"x_test.npy", images_npy(2)},
          {"y_test.npy", labels_npy({2, 0})}};
}

/// What loading an .npz file of these entries says, with the folder's name as TMP.
std::string failure(const Entries& entries, const LoadOptions& options = {}) {
  const TempFolder folder;
  folder.write("a.npz", zip_bytes(entries, false));
  std::string text = error_of([&] { load_dataset(folder.str() + "/a.npz", options); });
  for (std::size_t at = text.find(folder.str()); at != std::string::npos; at = text.find(folder.str()))
    text.replace(at, folder.str().size(), "TMP");
  return text;
}

TEST(Arrays, ReadStoredDeflatedAndWideArchivesAndFoldersAlike) {
  const TempFolder folder;
  folder.write("stored.npz", zip_bytes(four_arrays(), false));
  folder.write("packed.npz", zip_bytes(four_arrays(), true));
  folder.write("wide.npz", zip_bytes(four_arrays(), true, true));
  for (const auto& [name, content] : four_arrays()) folder.write("plain/" + name, content);
  const Dataset stored = load_dataset(folder.str() + "/stored.npz", {});
  EXPECT_EQ(stored.name, "stored.npz");
  EXPECT_EQ(stored.description, "NumPy arrays in " + folder.str() + "/stored.npz");
  EXPECT_EQ(stored.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(stored.train.pixels, counted(24, 7));
  EXPECT_EQ(stored.train.labels, (std::vector<std::int32_t>{0, 1, 2, 1}));
  EXPECT_EQ(stored.test.labels, (std::vector<std::int32_t>{2, 0}));
  EXPECT_EQ(stored.train.channels, 1);
  EXPECT_EQ(stored.train.height, 2);
  EXPECT_EQ(stored.train.width, 3);
  for (const char* other : {"/packed.npz", "/wide.npz", "/plain"}) {
    const Dataset data = load_dataset(folder.str() + other, {});
    EXPECT_EQ(data.train, stored.train) << other;
    EXPECT_EQ(data.test, stored.test) << other;
    EXPECT_EQ(data.fingerprint, stored.fingerprint) << other;
  }
}

TEST(Arrays, FindsTheAxisOfChannels) {
  const TempFolder folder;
  const Bytes pixels = counted(5 * 18, 1);
  folder.write("first.npz", zip_bytes({{"images.npy", npy_bytes("|u1", "(5, 2, 3, 3)", raw_bytes(pixels))},
                                       {"labels.npy", labels_npy({0, 1, 0, 1, 0})}},
                                      false));
  Bytes last;  // the same with channels behind
  for (std::size_t i = 0; i < 5; ++i)
    for (std::size_t p = 0; p < 9; ++p)
      for (std::size_t c = 0; c < 2; ++c) last.push_back(pixels[(i * 2 + c) * 9 + p]);
  folder.write("last.npz", zip_bytes({{"images.npy", npy_bytes("|u1", "(5, 3, 3, 2)", raw_bytes(last))},
                                      {"labels.npy", labels_npy({0, 1, 0, 1, 0})}},
                                     false));
  const Dataset data = load_dataset(folder.str() + "/first.npz", {});
  EXPECT_EQ(data.train.channels, 2);
  EXPECT_EQ(data.train.size(), 4);
  EXPECT_EQ(data.test.size(), 1);
  EXPECT_EQ(data.description, "NumPy arrays in " + folder.str() +
                                  "/first.npz; without a test part, so every fifth image is set apart for it (seed 1)");
  EXPECT_EQ(load_dataset(folder.str() + "/last.npz", {}).fingerprint, data.fingerprint);
  EXPECT_EQ(
      failure({{"x.npy", npy_bytes("|u1", "(1, 3, 2, 3)", raw_bytes(counted(18, 1)))}, {"y.npy", labels_npy({0})}}),
      "exit 2: TMP/a.npz: x is 1 x 3 x 2 x 3: which axis is that of channels cannot be told\n"
      "  axis 1 or axis 3 must be smaller than the other");
}

TEST(Arrays, BringOtherNumbersToBytesAndSaySo) {
  const TempFolder folder;
  const auto load = [&](const std::string& type, const std::string& elements) {
    folder.write("a.npz", zip_bytes({{"x_train.npy", npy_bytes(type, "(2, 1, 2)", elements)},
                                     {"y_train.npy", labels_npy({0, 1})},
                                     {"x_test.npy", npy_bytes(type, "(2, 1, 2)", elements)},
                                     {"y_test.npy", labels_npy({0, 1})}},
                                    false));
    return load_dataset(folder.str() + "/a.npz", {});
  };
  EXPECT_EQ(load("<i4", raw_bytes(std::vector<std::int32_t>{0, 1, 200, 255})).train.pixels, (Bytes{0, 1, 200, 255}));
  EXPECT_EQ(load("<f8", raw_bytes(std::vector<double>{0, 3, 200, 255})).train.pixels, (Bytes{0, 3, 200, 255}));
  const Dataset unit = load("<f4", raw_bytes(std::vector<float>{0, 0.5F, 1, 0.25F}));
  EXPECT_EQ(unit.train.pixels, (Bytes{0, 128, 255, 64}));
  EXPECT_TRUE(unit.description.ends_with("/a.npz; pixels from 0 to 1 brought to 0 to 255 in whole steps"));
  const Dataset centred = load("<f8", raw_bytes(std::vector<double>{-1, 0, 1, 0.5}));
  EXPECT_EQ(centred.train.pixels, (Bytes{0, 128, 255, 191}));
  EXPECT_TRUE(centred.description.ends_with("/a.npz; pixels from -1 to 1 brought to 0 to 255 in whole steps"));
  EXPECT_EQ(load("<i8", raw_bytes(std::vector<std::int64_t>{-100, 0, 155, 410})).train.pixels,
            (Bytes{0, 50, 128, 255}));
}

TEST(Arrays, FloatingPointTargetsAreValues) {
  const TempFolder folder;
  const std::vector<float> train{1, 10, 3, 10, 5, 10, 7, 10};
  folder.write("a.npz",
               zip_bytes({{"X_train.npy", images_npy(4)},
                          {"Y_train.npy", npy_bytes("<f4", "(4, 2)", raw_bytes(train))},
                          {"X_test.npy", images_npy(2)},
                          {"Y_test.npy", npy_bytes("<f4", "(2, 2)", raw_bytes(std::vector<float>{4, 10, 9, 12}))}},
                         true));
  const Dataset data = load_dataset(folder.str() + "/a.npz", {});
  EXPECT_EQ(data.target, TargetKind::values);
  EXPECT_EQ(data.classes, (std::vector<std::string>{"y0", "y1"}));
  ASSERT_EQ(data.scales.size(), 2U);
  EXPECT_DOUBLE_EQ(data.scales[0].mean, 4);
  EXPECT_DOUBLE_EQ(data.scales[0].deviation, std::sqrt(5.0));
  EXPECT_DOUBLE_EQ(data.scales[1].deviation, 1);  // constant
  EXPECT_FLOAT_EQ(data.train.values[0], static_cast<float>(-3 / std::sqrt(5.0)));
  EXPECT_FLOAT_EQ(data.test.values[2], static_cast<float>(5 / std::sqrt(5.0)));
  EXPECT_FLOAT_EQ(data.test.values[3], 2);
  EXPECT_EQ(data.train.labels, (std::vector<std::int32_t>{0, 0, 0, 0}));
}

TEST(Arrays, WholeNumbersOfTheImagesSizeAreMasks) {
  const TempFolder folder;
  folder.write("a.npz", zip_bytes({{"images_train.npy", images_npy(2)},
                                   {"masks_train.npy", npy_bytes("|u1", "(2, 2, 3)", raw_bytes(counted(12, 1)))},
                                   {"images_test.npy", images_npy(1)},
                                   {"masks_test.npy", npy_bytes("|u1", "(1, 2, 3)", raw_bytes(counted(6, 2)))}},
                                  true));
  const Dataset data = load_dataset(folder.str() + "/a.npz", {});
  EXPECT_EQ(data.target, TargetKind::masks);
  EXPECT_EQ(data.classes.size(), 12U);
  EXPECT_EQ(data.train.masks, counted(12, 1));
  EXPECT_EQ(data.test.masks, counted(6, 2));
}

TEST(Arrays, NumbersThatAreNotFiniteAreCorrupt) {
  const float nan = std::numeric_limits<float>::quiet_NaN();
  const Entries entries{{"x_train.npy", npy_bytes("<f4", "(3, 1, 1)", raw_bytes(std::vector<float>{0.5F, nan, 1}))},
                        {"y_train.npy", npy_bytes("<f4", "(3,)", raw_bytes(std::vector<float>{1, 2, nan}))},
                        {"x_test.npy", npy_bytes("<f4", "(1, 1, 1)", raw_bytes(std::vector<float>{0.25F}))},
                        {"y_test.npy", npy_bytes("<f4", "(1,)", raw_bytes(std::vector<float>{3}))}};
  EXPECT_EQ(failure(entries),
            "exit 2: TMP/a.npz: 2 of 4 images cannot be read\n"
            "  TMP/a.npz: x_train[1] holds a number that is not finite\n"
            "  TMP/a.npz: y_train[2] holds a number that is not finite\n"
            "  remove or replace them, or go on without them: --skip-corrupt; nothing was changed");
  const TempFolder folder;
  folder.write("a.npz", zip_bytes(entries, false));
  const Dataset data = load_dataset(folder.str() + "/a.npz", {.skip_corrupt = true});
  EXPECT_EQ(data.train.pixels, Bytes{128});
  EXPECT_EQ(data.corrupt.count, 2);
}

TEST(Arrays, OfBytesAreStreamedBeyondTheMemoryLimit) {
  const TempFolder folder;
  folder.write("a.npz", zip_bytes(four_arrays(), false));
  folder.write("packed.npz", zip_bytes(four_arrays(), true));
  Bytes last = counted(10 * 24, 3);
  folder.write("one/x.npy", npy_bytes("|u1", "(10, 2, 4, 3)", raw_bytes(counted(240, 3))));
  folder.write("one/y.npy", labels_npy({0, 1, 2, 1, 0, 1, 2, 1, 0, 0}));
  for (const char* name : {"/a.npz", "/one"}) {
    const Dataset whole = load_dataset(folder.str() + name, {});
    const Dataset streamed = load_dataset(folder.str() + name, {.memory_limit = 10});
    ASSERT_NE(streamed.train.stream, nullptr) << name;
    EXPECT_EQ(streamed.fingerprint, whole.fingerprint) << name;
    EXPECT_EQ(select_images(streamed.train, every_index(streamed.train)), whole.train) << name;
    EXPECT_EQ(channel_statistics(streamed.train, every_index(whole.train)).deviation,
              channel_statistics(whole.train, every_index(whole.train)).deviation);
  }
  EXPECT_EQ(error_of([&] { load_dataset(folder.str() + "/packed.npz", {.memory_limit = 10}); }),
            "exit 2: " + folder.str() +
                "/packed.npz: x_train has 152B, 10B of memory are allowed\n"
                "  allow more (--data-memory), or save the images as bytes with numpy.savez: these are streamed");
}

TEST(Arrays, SayWhatIsWrong) {
  EXPECT_EQ(
      failure({{"a.npy", images_npy(1)}, {"b.npy", labels_npy({0})}}),
      "exit 2: TMP/a.npz has no images and targets of known names\n  found: a, b\n"
      "  known: x and y, or images and labels, alone or as x_train, y_train, x_test, y_test; targets may be masks");
  const std::string x = images_npy(2);
  const std::string cut = x.substr(0, x.size() - 5);
  EXPECT_EQ(
      failure({{"x.npy", cut}, {"y.npy", labels_npy({0, 1})}}),
      "exit 2: TMP/a.npz: x: 135 bytes found, 140 needed (a header of 128 bytes and 2 x 2 x 3 elements of 1 byte)\n"
      "  get the file again; nothing was changed");
  EXPECT_EQ(failure({{"x.npy", npy_bytes("<U5", "(1, 1, 1)", std::string(20, 'a'))}, {"y.npy", labels_npy({0})}}),
            "exit 2: TMP/a.npz: x has elements of type <U5, needed is one of |u1, <i4, <i8, <f4, <f8\n"
            "  convert the array before it is saved: array.astype('uint8'), or 'int64', 'float32'");
  EXPECT_EQ(
      failure({{"x.npy", npy_bytes("|u1", "(2, 2, 3)", std::string(12, 'a'), 1, true)}, {"y.npy", labels_npy({0, 1})}}),
      "exit 2: TMP/a.npz: x is in Fortran order, C order is needed\n"
      "  convert the array before it is saved: numpy.ascontiguousarray(array)");
  EXPECT_EQ(failure({{"x.npy", x}, {"y.npy", labels_npy({0, 1, 2})}}),
            "exit 2: TMP/a.npz: y is 3, but TMP/a.npz: x has 2 images");
  EXPECT_EQ(failure({{"x.npy", x}, {"y.npy", labels_npy({0, -1})}}),
            "exit 2: TMP/a.npz: y holds -1 at element 1: classes are 0 to 99999");
  EXPECT_EQ(failure({{"x.npy", x}, {"y.npy", npy_bytes("<i8", "(2, 3)", raw_bytes(std::vector<std::int64_t>(6)))}}),
            "exit 2: TMP/a.npz: y is 2 x 3: targets of 2 images are 2 classes (whole numbers), 2 x k values (floating "
            "point), or masks of 2 x 3 pixels (whole numbers)\n"
            "  classes as rows with a single 1 become numbers by y.argmax(axis=1)");
  EXPECT_EQ(failure({{"x.npy", npy_bytes("|u1", "(12,)", std::string(12, 'a'))}, {"y.npy", labels_npy({0})}}),
            "exit 2: TMP/a.npz: x is 12: images are n x rows x columns, with channels as axis 1 or 3");
  EXPECT_EQ(failure({{"x.npy", "rubbish"}, {"y.npy", labels_npy({0})}}),
            "exit 2: TMP/a.npz: x is no NumPy array: it does not begin with \\x93NUMPY");
  auto classes = four_arrays();
  classes[3].second = labels_npy({2, 3});
  EXPECT_EQ(failure(classes),
            "exit 2: TMP/a.npz: y_test has the class 3, which no training image has\n  classes: 0 to 2");
  auto sizes = four_arrays();
  sizes[2].second = npy_bytes("|u1", "(2, 3, 3)", std::string(18, 'a'));
  EXPECT_EQ(
      failure(sizes),
      "exit 2: TMP/a.npz: x_test has images of 1 x 3 x 3 (channels, rows, columns), but TMP/a.npz: x_train of 1 x 2 "
      "x 3");
  EXPECT_EQ(failure({{"x.npy", images_npy(2)}, {"y.npy", labels_npy({0, 1})}}),
            "exit 2: TMP/a.npz has no test part and 2 images, of which none can be set apart for it\n"
            "  at least 5 images are needed, or a test part");
}

TEST(Arrays, WantTwoArraysAndAWholeArchive) {
  const TempFolder folder;
  folder.write("x.npy", images_npy(2));
  EXPECT_EQ(error_of([&] { load_dataset(folder.str() + "/x.npy", {}); }),
            "exit 2: " + folder.str() +
                "/x.npy is one array, images and targets are needed\n"
                "  give the folder with x.npy and y.npy, or an .npz file with both");
  const std::string whole = zip_bytes(four_arrays(), false);
  folder.write("cut.npz", whole.substr(0, whole.size() - 10));
  EXPECT_EQ(error_of([&] { load_dataset(folder.str() + "/cut.npz", {}); }),
            "exit 2: " + folder.str() +
                "/cut.npz: it is no zip archive, or ends early: its end record is missing\n"
                "  get the file again; nothing was changed");
  std::string changed = whole;
  changed[changed.find("x_train.npy") + 11 + 130] ^= 1;
  folder.write("changed.npz", changed);
  EXPECT_EQ(error_of([&] { load_dataset(folder.str() + "/changed.npz", {}); }),
            "exit 2: " + folder.str() +
                "/changed.npz: the checksum of x_train.npy does not match\n  get the file again; nothing was changed");
}

template <typename T>
void expect_round_trip(const std::string& type, Rng& rng) {
  std::vector<T> values(static_cast<std::size_t>(rng.between(0, 50)));
  for (T& value : values)
    value = std::is_floating_point_v<T> ? static_cast<T>(rng.normal() * 1e3) : static_cast<T>(rng.bits() >> 12);
  const std::size_t rows = values.size() % 5 == 0 ? 5 : 1;
  const std::string shape = fmt::format("({}, {})", rows, values.size() / rows);
  const int version = static_cast<int>(rng.between(1, 3));
  const NpyArray array = read_npy(npy_bytes(type, shape, raw_bytes(values), version), "array");
  EXPECT_EQ(array.header.shape, (std::vector<std::int64_t>{static_cast<std::int64_t>(rows),
                                                           static_cast<std::int64_t>(values.size() / rows)}));
  ASSERT_EQ(array.header.elements(), std::ssize(values));
  for (std::int64_t i = 0; i < std::ssize(values); ++i)
    EXPECT_EQ(array.at(i), static_cast<double>(values[static_cast<std::size_t>(i)])) << type << " " << i;
}

TEST(Npy, GivesBackRandomArraysOfEachTypeAndVersion) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  for (int round = 0; round < 200; ++round) {
    expect_round_trip<std::uint8_t>("|u1", rng);
    expect_round_trip<std::int32_t>("<i4", rng);
    expect_round_trip<std::int64_t>("<i8", rng);
    expect_round_trip<float>("<f4", rng);
    expect_round_trip<double>("<f8", rng);
  }
}

TEST(Npy, SaysWhatIsWrongWithAHeader) {
  const auto fail = [](const std::string& content) { return error_of([&] { read_npy(content, "a.npy"); }); };
  std::string version = images_npy(1);
  version[6] = 9;
  EXPECT_EQ(fail(version), "exit 2: a.npy has version 9.0 of the .npy format, 1 to 3 are read");
  EXPECT_EQ(fail(images_npy(1).substr(0, 60)),
            "exit 2: a.npy: 60 bytes found, 128 needed for the header\n  get the file again; nothing was changed");
  EXPECT_EQ(fail(npy_bytes("|u1", "(2,, 3)", "abcdef")),
            "exit 2: a.npy: the header of the array is damaged (at its character 53)\n"
            "  get the file again; nothing was changed");
  EXPECT_EQ(fail(npy_bytes("|u1", "(99999999999, 99999999999)", "abcdef")),
            "exit 2: a.npy is 99999999999 x 99999999999: more elements than any file has");
}

}  // namespace
}  // namespace kasimir
