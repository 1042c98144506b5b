// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/table.h"

#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace kasimir {
namespace {

TEST(Table, AlignsItsColumnsUnderHeaderAndUnits) {
  Table table({{"kernel", "", Table::Align::left}, {"latency", "ms"}, {"accuracy", "%"}});
  table.row({"original", "12.5", "91.30"});
  table.row({"k1", "3.25", "90.8"});
  EXPECT_EQ(table.str(),
            "kernel    latency  accuracy\n"
            "               ms         %\n"
            "original     12.5     91.30\n"
            "k1           3.25      90.8\n");
}

TEST(Table, LeavesOutTheUnitsWhereThereAreNone) {
  Table table({{"a", ""}, {"b", "", Table::Align::left}});
  table.row({"1000", "x"});
  EXPECT_EQ(table.str(), "   a  b\n1000  x\n");
}

TEST(Table, ShowsItsHeaderWithoutRows) { EXPECT_EQ(Table({{"a", "s"}, {"long", ""}}).str(), "a  long\ns\n"); }

TEST(Table, LeavesNoSpacesAtTheEndOfALine) {
  Table table({{"name", "", Table::Align::left}, {"reason", "", Table::Align::left}});
  table.row({"a", ""});
  table.row({"b", "too slow"});
  EXPECT_EQ(table.str(), "name  reason\na\nb     too slow\n");
}

TEST(Table, CountsCharactersAndNotBytes) {
  Table table({{"µs", ""}, {"x", ""}});
  table.row({"12", "±1"});
  EXPECT_EQ(table.str(), "µs   x\n12  ±1\n");
}

TEST(Table, PutsABrokenLineIntoOneRow) {
  Table table({{"reason", "", Table::Align::left}, {"n", ""}});
  table.row({"no data\n  in x", "1"});
  EXPECT_EQ(table.str(), "reason          n\nno data   in x  1\n");
}

TEST(Table, FailsACheckOnARowOfAnotherWidth) {
  Table table({{"a", ""}, {"b", ""}});
  EXPECT_THAT(testing::thrown_by([&] { table.row({"1"}); }),
              ::testing::StartsWith("70: internal error: a row of 1 cells in a table of 2 columns "));
}

}  // namespace
}  // namespace kasimir
