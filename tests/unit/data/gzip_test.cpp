// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/gzip.h"

#include "data_files.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

using test::error_of;
using test::gzip_bytes;

std::string long_text() {
  std::string text;
  for (int i = 0; i < 200000; ++i) text += std::to_string(i * 7919 % 1009);
  return text;
}

TEST(Gzip, UnpacksWhatWasPackedAcrossManyBlocks) { EXPECT_EQ(gunzip(gzip_bytes(long_text()), "a.gz"), long_text()); }

TEST(Gzip, JoinsSeveralMembers) { EXPECT_EQ(gunzip(gzip_bytes("one ") + gzip_bytes("two"), "a.gz"), "one two"); }

TEST(Gzip, UnpacksAnEmptyContent) { EXPECT_EQ(gunzip(gzip_bytes(""), "a.gz"), ""); }

TEST(Gzip, SaysHowManyBytesWereFoundWhenTheDataEndsEarly) {
  const std::string packed = gzip_bytes("a text of some length");
  EXPECT_EQ(error_of([&] { gunzip(packed.substr(0, packed.size() - 1), "data/a.gz"); }),
            "exit 2: data/a.gz: the gzip data ends early (40 bytes found, 21 bytes unpacked from them)\n"
            "  get the file again; nothing was changed");
  EXPECT_EQ(error_of([&] { gunzip("", "data/a.gz"); }),
            "exit 2: data/a.gz: the gzip data ends early (0 bytes found, 0 bytes unpacked from them)\n"
            "  get the file again; nothing was changed");
}

TEST(Gzip, NamesWhatIsDamaged) {
  EXPECT_EQ(error_of([&] { gunzip("this is no gzip file", "a.gz"); }),
            "exit 2: a.gz: the gzip data is damaged (incorrect header check)\n"
            "  get the file again; nothing was changed");
  std::string packed = gzip_bytes("a text of some length");
  packed[packed.size() - 6] = static_cast<char>(packed[packed.size() - 6] ^ 1);
  EXPECT_EQ(error_of([&] { gunzip(packed, "a.gz"); }),
            "exit 2: a.gz: the gzip data is damaged (incorrect data check)\n"
            "  get the file again; nothing was changed");
  EXPECT_EQ(error_of([&] { gunzip(gzip_bytes("text") + "rubbish", "a.gz"); }),
            "exit 2: a.gz: the gzip data is damaged (incorrect header check)\n"
            "  get the file again; nothing was changed");
}

}  // namespace
}  // namespace kasimir
