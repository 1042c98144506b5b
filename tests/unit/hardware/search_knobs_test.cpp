// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/search/architectures.h"
#include "unit/hardware/message_of.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

using Values = std::vector<double>;

ArchitectureKnob knob(const char* text) { return parse_knob(text, preset("gemmini")); }
std::string message(const char* text) {
  return message_of([&] { knob(text); });
}

TEST(ParseKnob, ReadsListsAndDoublings) {
  EXPECT_EQ(knob("scratchpad.columns=8,16").values, (Values{8, 16}));
  EXPECT_EQ(knob("scratchpad.rows = 4..20").values, (Values{4, 8, 16}));
  EXPECT_EQ(knob("scratchpad.rows = 4 .. 32").values, (Values{4, 8, 16, 32}));
  EXPECT_EQ(knob("scratchpad.capacity=32..128 KiB").values, (Values{32 * 8192.0, 64 * 8192.0, 128 * 8192.0}));
  EXPECT_EQ(knob("scratchpad.capacity_weight=16 B, 1, 2 KiB").values, (Values{128, 8192, 16384}));
  EXPECT_EQ(knob("dram.bandwidth=8 GB/s").values, (Values{64}));
  EXPECT_EQ(str(knob("accumulator.read_bandwidth=8 bit/cycle"), preset("gemmini")), "read bandwidth of accumulator");
  EXPECT_EQ(str(knob("scratchpad.capacity_output=1 KiB"), preset("gemmini")), "capacity of scratchpad for outputs");
}

TEST(ParseKnob, SetsTheNumberThatItNames) {
  const std::vector<ArchitectureKnob> knobs{knob("scratchpad.write_bandwidth=8 bit/cycle"),
                                            knob("accumulator.columns=4"), knob("scratchpad.capacity_input=2 KiB")};
  const Architecture made = with_knobs(preset("gemmini"), knobs, {8, 4, 16384});
  EXPECT_EQ(made.levels[1].write_bandwidth, 8);
  EXPECT_EQ(made.levels[2].x.size, 4);
  EXPECT_EQ(made.levels[1].partition_bits[0], 16384);
}

TEST(ParseKnob, SaysWhatIsWrong) {
  EXPECT_EQ(message("scratchpad.capacity"),
            "`scratchpad.capacity` gives no values: write LEVEL.WHAT=VALUES, such as register.capacity=64..256 KiB");
  EXPECT_EQ(message("capacity=4 B"),
            "`capacity` is no parameter of an architecture: write LEVEL.WHAT, such as register.capacity");
  EXPECT_EQ(message("scratchpat.columns=4"), "gemmini has no level `scratchpat`\n  did you mean `scratchpad`?");
  EXPECT_EQ(message("scratchpad.column=4"), "`column` is nothing of a level that can vary\n  did you mean `columns`?");
  EXPECT_EQ(message("scratchpad.columns=2.5"),
            "`2.5` is no value of scratchpad.columns: a whole number above 0 is needed");
  EXPECT_EQ(
      message("scratchpad.capacity=64"),
      "`64` is no value of scratchpad.capacity: a number above 0 and a unit are needed: `bit`, `B`, `KiB`, `MiB`, "
      "`GiB`");
  EXPECT_EQ(message("scratchpad.columns=8..4"), "the values `8..4` of scratchpad.columns go from more to less");
}

TEST(ParseKnobs, ReadsTheTableOfAFile) {
  const auto knobs = parse_knobs("[vary]\n\"scratchpad.columns\" = [8, 16]\n\"scratchpad.capacity\" = \"32..64 KiB\"\n",
                                 "space.toml", preset("gemmini"));
  ASSERT_EQ(knobs.size(), 2U);
  EXPECT_EQ(knobs[0].kind, KnobKind::capacity);  // keys come in alphabetical order
  EXPECT_EQ(knobs[1].values, (Values{8, 16}));
  const auto wrong = [](const char* text) {
    return message_of([&] { parse_knobs(text, "space.toml", preset("gemmini")); });
  };
  EXPECT_EQ(wrong("[very]\n"),
            "space.toml needs one table `[vary]` and nothing else\n  with lines such as \"scratchpad.capacity\" = "
            "\"64..256 KiB\"");
  EXPECT_EQ(wrong("[vary]\n\"scratchpad.columns\" = true\n"),
            "the values of scratchpad.columns are no text, number or list of them\n  space.toml:2");
}

TEST(ValueText, HasTheUnitOfTheKnob) {
  EXPECT_EQ(value_text(knob("scratchpad.columns=8"), 8), "8");
  EXPECT_EQ(value_text(knob("scratchpad.capacity=8 B"), 65536 * 8), "64 KiB");
  EXPECT_EQ(value_text(knob("register.capacity=8 B"), 16), "2 B");
  EXPECT_EQ(value_text(knob("dram.bandwidth=8 B/cycle"), 64), "64 bit/cycle");
}

TEST(SearchArchitecture, KeepsTheLimitOfPowerAndCountsBlockRam) {
  Architecture base = preset("systolic_ws");
  base.levels[1].block_ram = true;
  const std::vector<ArchitectureKnob> knobs{parse_knob("sram.columns=4,8,16", base)};
  const std::vector<Problem> layers{matrix_product(16, 32, 32)};
  const DesignAnswer free = search_architecture(layers, base, knobs, {}, {});
  ASSERT_TRUE(free.found);
  const EvaluationOptions limited{.max_power_mw = free.best.power_mw / 2};
  const DesignAnswer slow = search_architecture(layers, base, knobs, limited, {});
  ASSERT_TRUE(slow.found);
  for (const DesignPoint& point : slow.front) EXPECT_LE(point.power_mw, limited.max_power_mw * (1 + 1e-9));
  EXPECT_GE(slow.value, free.value);
  EXPECT_LE(slow.least_cycles, slow.front.front().cycles);
  EXPECT_EQ(free.best.bram18, base.bram18());
  DesignOptions options;
  options.budget.bram18 = base.bram18() - 1;
  const DesignAnswer none = search_architecture(layers, base, knobs, {}, options);
  EXPECT_FALSE(none.found);
  EXPECT_EQ(
      none.misfit,
      fmt::format("all 3 designs are over the budget, 3 of them in BRAM18; nearest: columns of sram 4\n  BRAM18 {}, "
                  "the budget is {}",
                  base.bram18(), base.bram18() - 1));
}

}  // namespace
}  // namespace kasimir
