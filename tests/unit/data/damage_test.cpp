// SPDX-License-Identifier: Apache-2.0
// Damaged files of every kind: cut at every length and with random bytes changed.
#include "archive_files.h"
#include "data_files.h"

#include "kasimir/base/rng.h"
#include "kasimir/data/dataset.h"
#include "kasimir/data/image_file.h"

#include <gtest/gtest.h>

#include <random>

namespace kasimir {
namespace {

using test::cifar_record;
using test::Entries;
using test::error_of;
using test::gzip_bytes;
using test::idx_bytes;
using test::jpeg_bytes;
using test::npy_bytes;
using test::png_bytes;
using test::raw_bytes;
using test::smooth_raster;
using test::tar_bytes;
using test::TempFolder;
using test::zip_bytes;

/// A small good data set of each layout, and the file in it to damage.
struct Victim {
  std::string name;
  std::string file;
  Entries files;
  std::string where = {};  // what to load; empty: the folder
};

std::vector<Victim> victims() {
  std::vector<std::uint8_t> pixels;
  for (std::uint8_t i = 0; i < 27; ++i) pixels.push_back(static_cast<std::uint8_t>(i * i));
  const std::string images = idx_bytes(0x803, {3, 3, 3}, pixels);
  const std::string labels = idx_bytes(0x801, {3}, {0, 1, 2});
  const std::vector<std::pair<std::string, std::string>> idx = {{"train-images-idx3-ubyte", images},
                                                                {"train-labels-idx1-ubyte", labels},
                                                                {"t10k-images-idx3-ubyte", images},
                                                                {"t10k-labels-idx1-ubyte", labels}};
  auto packed = idx;
  for (auto& [name, content] : packed) {
    name += ".gz";
    content = gzip_bytes(content);
  }
  const auto folder = [](const std::string& ending, const std::string& image) {
    std::vector<std::pair<std::string, std::string>> files;
    for (const char* name : {"train/a/1", "train/b/1", "test/a/1", "test/b/1"})
      files.emplace_back(name + ending, image);
    return files;
  };
  const std::string x = npy_bytes("|u1", "(2, 2, 3)", raw_bytes(std::vector<std::uint8_t>(12, 9)));
  const std::string y = npy_bytes("<i8", "(2,)", raw_bytes(std::vector<std::int64_t>{0, 1}));
  const std::string floats = npy_bytes("<f4", "(2, 1, 2)", raw_bytes(std::vector<float>{0, 0.5F, 1, 2}));
  const auto arrays = [](const std::string& values, const std::string& targets) -> Entries {
    return {{"x_train.npy", values}, {"y_train.npy", targets}, {"x_test.npy", values}, {"y_test.npy", targets}};
  };
  return {
      {"IDX images", "t10k-images-idx3-ubyte", idx},
      {"IDX labels", "train-labels-idx1-ubyte", idx},
      {"IDX images, packed", "train-images-idx3-ubyte.gz", packed},
      {"IDX labels, packed", "t10k-labels-idx1-ubyte.gz", packed},
      {"CIFAR-100", "test.bin", {{"train.bin", cifar_record({1, 7}, 3)}, {"test.bin", cifar_record({1, 9}, 3)}}},
      {"JPEG", "train/b/1.jpg", folder(".jpg", jpeg_bytes(smooth_raster(9, 11, 3, 1)))},
      {"progressive JPEG", "test/a/1.jpg", folder(".jpg", jpeg_bytes(smooth_raster(9, 11, 3, 1), true))},
      {"PNG", "train/a/1.png", folder(".png", png_bytes(smooth_raster(9, 11, 3, 1)))},
      {"stored npz", "a.npz", {{"a.npz", zip_bytes(arrays(x, y), false)}}, "a.npz"},
      {"deflated npz", "a.npz", {{"a.npz", zip_bytes(arrays(floats, y), true, true)}}, "a.npz"},
      {"npy", "x_train.npy", arrays(floats, y)},
      {"npy labels", "y_test.npy", arrays(x, y)},
  };
}

std::string content_of(const Victim& victim) {
  for (const auto& [name, content] : victim.files) {
    if (name == victim.file) return content;
  }
  return {};
}

std::string place(const TempFolder& folder, const Victim& victim) {
  return victim.where.empty() ? folder.str() : folder.str() + "/" + victim.where;
}

class Damage : public testing::TestWithParam<std::size_t> {};

TEST_P(Damage, IsAnErrorWhereverTheFileIsCut) {
  const Victim victim = victims()[GetParam()];
  const TempFolder folder;
  for (const auto& [name, content] : victim.files) folder.write(name, content);
  ASSERT_EQ(error_of([&] { load_dataset(place(folder, victim), {.threads = 1}); }), "nothing thrown");
  const std::string whole = content_of(victim);
  ASSERT_GT(whole.size(), 10U);
  for (std::size_t length = 0; length < whole.size(); ++length) {
    folder.write(victim.file, whole.substr(0, length));
    const std::string text = error_of([&] { load_dataset(place(folder, victim), {.threads = 1}); });
    EXPECT_EQ(text.substr(0, 8), "exit 2: ") << victim.name << " cut at " << length << ": " << text;
    EXPECT_NE(text.find(victim.file), std::string::npos) << victim.name << " cut at " << length << ": " << text;
  }
}

TEST_P(Damage, IsAnErrorOrAWholeDataSetWhateverBytesChange) {
  const Victim victim = victims()[GetParam()];
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed, GetParam());
  const TempFolder folder;
  for (const auto& [name, content] : victim.files) folder.write(name, content);
  for (int round = 0; round < 300; ++round) {
    std::string content = content_of(victim);
    for (std::int64_t changes = rng.between(1, 4); changes > 0; --changes)
      content[rng.below(content.size())] = static_cast<char>(rng.below(256));
    folder.write(victim.file, content);
    try {
      const Dataset data = load_dataset(place(folder, victim), {.threads = 1});
      for (const ImageSet* set : {&data.train, &data.test}) {
        EXPECT_EQ(set->pixels.size(), set->labels.size() * set->image_bytes());
        for (const std::int32_t label : set->labels) EXPECT_LT(label, static_cast<std::int32_t>(data.classes.size()));
      }
    } catch (const Error& error) {
      EXPECT_EQ(error.fault(), Fault::input) << error.what();
    }
  }
}

std::string shard_bytes() {
  return tar_bytes({{"1.png", png_bytes(smooth_raster(4, 5, 3, 1))},
                    {"1.cls", "0"},
                    {std::string(120, 'k') + ".jpg", jpeg_bytes(smooth_raster(4, 5, 3, 2))},
                    {std::string(120, 'k') + ".json", R"({"label": 1})"}});
}

/// Loads a damaged shard; anything but a whole data set or an Error of input fails the test.
void expect_survived(const TempFolder& folder, bool skip) {
  try {
    const Dataset data = load_dataset(folder.str(), {.threads = 1, .skip_corrupt = skip});
    for (const ImageSet* set : {&data.train, &data.test}) {
      EXPECT_EQ(set->pixels.size(), set->labels.size() * set->image_bytes());
      for (const std::int32_t label : set->labels) EXPECT_LT(label, static_cast<std::int32_t>(data.classes.size()));
    }
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input) << error.what();
  }
}

TEST(DamagedShard, IsAnErrorOrASmallerDataSetWhereverItIsCut) {
  const TempFolder folder;
  folder.write("test.tar", shard_bytes());
  const std::string whole = shard_bytes();
  for (std::size_t length = 0; length < whole.size(); length += 7) {
    folder.write("train.tar", whole.substr(0, length));
    for (const bool skip : {false, true}) expect_survived(folder, skip);
  }
}

TEST(DamagedShard, IsAnErrorOrAWholeDataSetWhateverBytesChange) {
  const std::uint64_t seed = std::random_device{}();
  SCOPED_TRACE("seed " + std::to_string(seed));
  Rng rng(seed);
  const TempFolder folder;
  folder.write("test.tar", shard_bytes());
  for (int round = 0; round < 2000; ++round) {
    std::string content = shard_bytes();
    for (std::int64_t changes = rng.between(1, 4); changes > 0; --changes)
      content[rng.below(content.size())] = static_cast<char>(rng.below(256));
    folder.write("train.tar", content);
    expect_survived(folder, rng.chance(0.5));
  }
}

INSTANTIATE_TEST_SUITE_P(EveryKindOfFile, Damage, testing::Range<std::size_t>(0, 12));

}  // namespace
}  // namespace kasimir
