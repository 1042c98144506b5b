// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/target.h"

#include "support/thrown.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

using testing::thrown_by;

const ChoiceSpace space{{{"stem", {"conv"}}, {"mix", {"conv", "skip"}}}, {4, 8}};
constexpr const char* csv =
    "# microseconds\n"
    "block,op,bits,cost\n"
    "-,-,-,7\n"
    "stem,conv,4,2\nstem,conv,8,3\n\n"
    "mix,conv,4,10\nmix,conv,8,12.5\nmix,skip,4,0\nmix,skip,8,0\n";

TEST(TableTarget, AddsUpTheLinesOfItsTable) {
  TableTarget cpu(space, parse_load_table(csv, "cpu.csv", space), "us");
  EXPECT_DOUBLE_EQ(cpu.cost({{0, 1}, {0, 1}}), 7 + 3 + 12.5);
  EXPECT_DOUBLE_EQ(cpu.cost({{0, 0}, {1, 0}}), 7 + 2);
  EXPECT_FALSE(cpu.adapts());
  EXPECT_TRUE(cpu.bound(ChoiceDesign(2)).exact);
}

TEST(TableTarget, WritesTheTableThatItReads) {
  const LoadTable table = parse_load_table(csv, "cpu.csv", space);
  const LoadTable again = parse_load_table(load_table_text(table, space), "again.csv", space);
  EXPECT_EQ(again.base, table.base);
  EXPECT_EQ(again.loads, table.loads);
}

TEST(TableTarget, DescribesItselfByItsTable) {
  const LoadTable table = parse_load_table(csv, "cpu.csv", space);
  TableTarget cpu(space, table, "us");
  const std::vector<TargetFile> files = cpu.files({{0, 1}, {0, 1}});
  ASSERT_EQ(files.size(), 1U);
  EXPECT_EQ(files[0].name, "costs.csv");
  EXPECT_EQ(parse_load_table(files[0].text, files[0].name, space).loads, table.loads);
}

TEST(TableTarget, SaysWhatIsWrongWithATableAndWhere) {
  const auto why = [](const std::string& text) {
    return thrown_by([&] { return parse_load_table(text, "cpu.csv", space); });
  };
  EXPECT_EQ(why("block,op,cost\n"), "2: cpu.csv:1: `block,op,cost`, needed: the header block,op,bits,cost");
  EXPECT_EQ(why("block,op,bits,cost\nstem,conv,4\n"), "2: cpu.csv:2: 3 cells, needed: block,op,bits,cost");
  EXPECT_EQ(why("block,op,bits,cost\nstm,conv,4,1\n"), "2: cpu.csv:2: no block `stm`\n  did you mean `stem`?");
  EXPECT_EQ(why("block,op,bits,cost\nmix,skp,4,1\n"),
            "2: cpu.csv:2: no operator `skp` in block mix\n  did you mean `skip`?");
  EXPECT_EQ(why("block,op,bits,cost\nstem,conv,5,1\n"), "2: cpu.csv:2: `5` bits, needed: one of 4, 8");
  EXPECT_EQ(why("block,op,bits,cost\nstem,conv,4,-1\n"), "2: cpu.csv:2: cost `-1`, needed: a number of at least 0");
  EXPECT_EQ(why("block,op,bits,cost\nstem,conv,4,1\nstem,conv,4,1\n"),
            "2: cpu.csv:3: a second cost for block stem, operator conv, 4 bits");
  EXPECT_EQ(why("block,op,bits,cost\n-,-,-,1\n-,-,-,1\n"),
            "2: cpu.csv:3: a second line for what is outside all blocks");
  EXPECT_EQ(why("block,op,bits,cost\nstem,conv,4,1\n"),
            "2: cpu.csv: no cost for block stem, operator conv, 8 bits, needed: a line for each choice");
}

}  // namespace
}  // namespace kasimir
