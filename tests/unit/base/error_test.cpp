// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"

#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

TEST(Error, CarriesTheExitCodeOfItsKind) {
  EXPECT_EQ(static_cast<int>(input_error("a").fault()), 2);
  EXPECT_EQ(static_cast<int>(unsolved_error("a").fault()), 3);
  EXPECT_EQ(static_cast<int>(system_error("a").fault()), 4);
  EXPECT_EQ(static_cast<int>(Fault::bug), 70);
}

TEST(Error, FormatsItsMessage) {
  const Error error = input_error("{} rows, {} wanted", 3, "four");
  EXPECT_EQ(error.message(), "3 rows, four wanted");
  EXPECT_STREQ(error.what(), "3 rows, four wanted");
  EXPECT_TRUE(error.notes().empty());
}

TEST(Error, ShowsItsNotesBelowTheMessage) {
  const auto fail = [] { throw input_error("no such folder: data").note("in --data").note("try --data cifar10"); };
  EXPECT_EQ(testing::thrown_by(fail), "2: no such folder: data\n  in --data\n  try --data cifar10");
}

TEST(Error, KeepsMessageAndNotesApart) {
  Error error = system_error("disk full");
  error.note("one").note("two");
  EXPECT_EQ(error.message(), "disk full");
  EXPECT_EQ(error.notes(), (std::vector<std::string>{"one", "two"}));
}

TEST(Check, PassesSilently) {
  int evaluated = 0;
  KASIMIR_CHECK(++evaluated == 1, "evaluated {} times", evaluated);
  EXPECT_EQ(evaluated, 1);
}

TEST(Check, SaysValuesConditionAndPlace) {
  const int line = __LINE__ + 1;
  const auto fail = [] { KASIMIR_CHECK(1 + 1 == 3, "the sum is {}", 1 + 1); };
  EXPECT_EQ(testing::thrown_by(fail),
            fmt::format("70: internal error: the sum is 2 (1 + 1 == 3)\n  at {}:{}\n"
                        "  this is a fault in kasimir, not in your input; please report it with the command",
                        __FILE__, line));
}

TEST(Check, NamesAFileFromTheSourceFolderOn) {
  const auto fail = [] { fail_check("ok", "/home/somebody/src/kasimir/src/kasimir/base/text.cpp", 7, "no"); };
  EXPECT_THAT(testing::thrown_by(fail), ::testing::HasSubstr("\n  at src/kasimir/base/text.cpp:7\n"));
}

}  // namespace
}  // namespace kasimir
