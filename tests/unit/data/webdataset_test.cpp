// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/webdataset.h"

#include "archive_files.h"
#include "data_files.h"

#include "kasimir/data/split.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>

namespace kasimir {
namespace {

using test::Entries;
using test::error_of;
using test::jpeg_bytes;
using test::png_bytes;
using test::smooth_raster;
using test::tar_bytes;
using test::TempFolder;

std::string picture(int variant) { return png_bytes(smooth_raster(4, 5, 3, variant)); }

/// Samples of consecutive variants with these labels.
Entries samples(const std::vector<std::string>& labels, int first, const std::string& ending = "cls") {
  Entries all;
  for (std::size_t i = 0; i < labels.size(); ++i) {
    const int variant = first + static_cast<int>(i);
    all.emplace_back(fmt::format("{:06}.png", variant), picture(variant));
    all.emplace_back(fmt::format("{:06}.{}", variant, ending), labels[i]);
  }
  return all;
}

void write_shards(const TempFolder& folder) {
  folder.write("s/train-00.tar", tar_bytes(samples({"0", "1", "2"}, 0)));
  folder.write("s/train-01.tar", tar_bytes(samples({"1", "0"}, 3)));
  folder.write("s/test-00.tar", tar_bytes(samples({"2", "1"}, 5)));
}

std::string failure(const TempFolder& folder, const std::string& where, const LoadOptions& options = {}) {
  std::string text = error_of([&] { load_dataset(folder.str() + "/" + where, options); });
  for (std::size_t at = text.find(folder.str()); at != std::string::npos; at = text.find(folder.str()))
    text.replace(at, folder.str().size(), "TMP");
  return text;
}

TEST(Braces, CountWithLeadingZerosAndList) {
  using Texts = std::vector<std::string>;
  EXPECT_EQ(expand_braces("a.tar"), Texts{"a.tar"});
  EXPECT_EQ(expand_braces("a{08..11}.tar"), (Texts{"a08.tar", "a09.tar", "a10.tar", "a11.tar"}));
  EXPECT_EQ(expand_braces("{a,bc}-{0..1}"), (Texts{"a-0", "a-1", "bc-0", "bc-1"}));
  EXPECT_EQ(error_of([] { expand_braces("a{0..3.tar"); }),
            "exit 2: `a{0..3.tar` has a brace without its partner\n  a range is written {000..012}");
  EXPECT_EQ(error_of([] { expand_braces("a{3..1}.tar"); }),
            "exit 2: cannot read the range {3..1} in `a{3..1}.tar`\n"
            "  needed are two numbers, the lower first: {000..012}");
  EXPECT_EQ(error_of([] { expand_braces("{0..999999}{0..9}"); }),
            "exit 2: `{0..999999}{0..9}` stands for more than 1,000,000 files");
}

TEST(WebDataset, ReadsFoldersAndPatternsOfShards) {
  const TempFolder folder;
  write_shards(folder);
  const Dataset data = load_dataset(folder.str() + "/s", {});
  EXPECT_EQ(data.classes, (std::vector<std::string>{"0", "1", "2"}));
  EXPECT_EQ(data.train.labels, (std::vector<std::int32_t>{0, 1, 2, 1, 0}));
  EXPECT_EQ(data.test.labels, (std::vector<std::int32_t>{2, 1}));
  EXPECT_EQ(data.description, "3 tar shards in " + folder.str() + "/s");
  const auto raster = smooth_raster(4, 5, 3, 3);
  for (std::size_t p = 0; p < 20; ++p) EXPECT_EQ(data.train.image(3)[20 + p], raster.pixels[p * 3 + 1]);
  const Dataset same = load_dataset(folder.str() + "/s/{train-00,train-01,test-00}.tar", {});
  EXPECT_EQ(same.fingerprint, data.fingerprint);
  const Dataset apart = load_dataset(folder.str() + "/s/train-{00..01}.tar", {});
  EXPECT_EQ(apart.train.size(), 4);
  EXPECT_EQ(apart.test.size(), 1);
}

TEST(WebDataset, StreamsBeyondTheMemoryLimitAndIsTheSameOnAnyNumberOfThreads) {
  const TempFolder folder;
  write_shards(folder);
  const Dataset whole = load_dataset(folder.str() + "/s", {});
  for (const int threads : {1, 2, 5}) {
    const Dataset streamed = load_dataset(folder.str() + "/s", {.threads = threads, .memory_limit = 100});
    ASSERT_NE(streamed.train.stream, nullptr);
    EXPECT_EQ(streamed.fingerprint, whole.fingerprint);
    EXPECT_EQ(select_images(streamed.train, every_index(streamed.train)), whole.train);
    EXPECT_EQ(select_images(streamed.test, every_index(streamed.test)), whole.test);
  }
}

TEST(WebDataset, TakesNamesAndJsonAsLabels) {
  const TempFolder folder;
  Entries train = samples({"dog\n", "cat"}, 0, "txt");
  const Entries more = samples({R"({"label": "cat"})", R"({"class": "dog", "width": 4})"}, 2, "json");
  train.insert(train.end(), more.begin(), more.end());
  folder.write("train.tar", tar_bytes(train));
  folder.write("val.tar", tar_bytes(samples({"dog"}, 4, "txt")));
  const Dataset data = load_dataset(folder.str(), {});
  EXPECT_EQ(data.classes, (std::vector<std::string>{"cat", "dog"}));
  EXPECT_EQ(data.train.labels, (std::vector<std::int32_t>{1, 0, 0, 1}));
  EXPECT_EQ(data.test.labels, std::vector<std::int32_t>{1});
}

TEST(WebDataset, ReadsLongNamesOfBothKinds) {
  const TempFolder folder;
  const std::string path = std::string(150, 'd') + "/1";
  std::string file = test::pax_name_bytes(path + ".jpg") +
                     test::tar_member_bytes("short", jpeg_bytes(smooth_raster(4, 5, 3, 1)), '0') +
                     tar_bytes({{path + ".cls", "0"}, {"2.png", picture(2)}, {"2.cls", "1"}});
  folder.write("train.tar", file);
  folder.write("test.tar", tar_bytes(samples({"0"}, 4)));
  EXPECT_EQ(load_dataset(folder.str(), {}).train.labels, (std::vector<std::int32_t>{0, 1}));
}

TEST(WebDataset, ListsWhatIsIncomplete) {
  const TempFolder folder;
  write_shards(folder);
  Entries odd = samples({"0", "1"}, 10);
  odd.push_back({"lost.png", picture(1)});
  odd.push_back({"blind.cls", "1"});
  odd.push_back({"empty.png", picture(2)});
  odd.push_back({"empty.cls", " "});
  odd.push_back({"keys.png", picture(2)});
  odd.push_back({"keys.json", R"({"width": 3})"});
  folder.write("s/train-02.tar", tar_bytes(odd));
  EXPECT_EQ(
      failure(folder, "s"),
      "exit 2: TMP/s: 4 of 13 images cannot be read\n"
      "  TMP/s/train-02.tar: sample `lost` has no label (.cls, .txt or .json): found .png\n"
      "  TMP/s/train-02.tar: sample `blind` has no image (.jpg, .jpeg or .png): found .cls\n"
      "  TMP/s/train-02.tar: empty.cls is empty, a class is needed\n"
      "  TMP/s/train-02.tar: keys.json has no label: a number or a name under label, cls or class is needed, found "
      "are width\n"
      "  remove or replace them, or go on without them: --skip-corrupt; nothing was changed");
  const Dataset data = load_dataset(folder.str() + "/s", {.skip_corrupt = true});
  EXPECT_EQ(data.train.size(), 7);
  EXPECT_EQ(data.corrupt.count, 4);
}

TEST(WebDataset, ReadsATruncatedShardUpToItsDamage) {
  const TempFolder folder;
  write_shards(folder);
  folder.write("s/test-00.tar", tar_bytes(samples({"0", "1"}, 5)));
  const std::string whole = tar_bytes(samples({"0", "1", "2"}, 0));
  // the header and the content of the picture and the class of the first sample, and a part of the second picture
  const std::size_t first = 512 + (picture(0).size() + 511) / 512 * 512 + 1024;
  folder.write("s/train-00.tar", whole.substr(0, first + 512 + 20));
  EXPECT_EQ(failure(folder, "s"),
            fmt::format("exit 2: TMP/s: 1 of 6 images cannot be read\n"
                        "  TMP/s/train-00.tar: it ends early: `000001.png` needs {} bytes, 20 are there\n"
                        "  remove or replace them, or go on without them: --skip-corrupt; nothing was changed",
                        picture(1).size()));
  const Dataset data = load_dataset(folder.str() + "/s", {.skip_corrupt = true});
  EXPECT_EQ(data.train.labels, (std::vector<std::int32_t>{0, 1, 0}));
}

TEST(WebDataset, SaysWhatIsWrong) {
  const TempFolder folder;
  folder.write("s/train.tar", tar_bytes(samples({"0", "1"}, 0)));
  folder.write("s/test.tar", tar_bytes(samples({"5"}, 2)));
  EXPECT_EQ(failure(folder, "s"),
            "exit 2: TMP/s/test.tar: 000002.png has the class `5`, which no training image has\n  classes: 0 to 1");
  folder.write("n/train.tar", tar_bytes(samples({"cat", "dog"}, 0)));
  folder.write("n/test.tar", tar_bytes(samples({"dgo"}, 2)));
  EXPECT_EQ(failure(folder, "n"),
            "exit 2: TMP/n/test.tar: 000002.png has the class `dgo`, which no training image has\n"
            "  did you mean `dog`?");
  EXPECT_EQ(failure(folder, "s/test.tar"),
            "exit 2: TMP/s/test.tar has shards to test with, but none to train on\n"
            "  shards whose names begin with `test` or `val` are not trained on");
  folder.write("e.tar", tar_bytes({}));
  EXPECT_EQ(failure(folder, "e.tar"),
            "exit 2: TMP/e.tar holds no sample: an image with a label (.cls, .txt or .json) of "
            "the same key is needed");
  EXPECT_EQ(failure(folder, "s/train-{0..1}.tar"), "exit 2: cannot read TMP/s/train-0.tar: No such file or directory");
}

}  // namespace
}  // namespace kasimir
