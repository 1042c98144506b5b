// SPDX-License-Identifier: Apache-2.0
#include "kasimir/hardware/mapping.h"

#include "kasimir/base/rng.h"
#include "unit/hardware/message_of.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

const Problem& problem() {
  static const Problem made = convolution(
      {.out_channels = 8, .in_channels = 3, .out_height = 4, .out_width = 4, .kernel_height = 3, .kernel_width = 3});
  return made;
}

const Architecture& architecture() {
  static const Architecture made = preset("gemmini");
  return made;
}

TEST(Mapping, ReadsTheLineOfTheDosaData) {
  const Mapping mapping =
      parse_mapping("L3[WIO] P2 R3 - L2[WI] N1 K4X - L1[O] K2 S3 Q4 C3X - L0[W] P2", problem(), architecture());
  ASSERT_EQ(mapping.count, 8);
  EXPECT_EQ(mapping.loops[0], (MappedLoop<std::int64_t>{2, 2, 0, LoopKind::temporal}));
  EXPECT_EQ(mapping.loops[2], (MappedLoop<std::int64_t>{4, 5, 1, LoopKind::spatial_x}));
  EXPECT_EQ(mapping.keeps[0], 0b0101) << "O at levels 0 and 2";
  EXPECT_EQ(mapping.keeps[1], 0b0011);
  EXPECT_EQ(mapping.keeps[2], 0b1011);
  EXPECT_EQ(str(mapping, problem(), architecture()), "L3[OIW] P2 R3 - L2[IW] K4X - L1[O] K2 S3 Q4 C3X - L0[W] P2");
}

TEST(Mapping, ReadsLevelsByNameAndDimensionsThatEndInADigit) {
  const Problem shuffle = parse_problem("out[3*c1+c0,h] = in[c1,h,c0] for c1=2 c0=3 h=4");
  const Mapping mapping = parse_mapping("dram[out,in] c1=2 - scratchpad[in] c0=3X - accumulator[out] h4 - register[]",
                                        shuffle, architecture());
  EXPECT_EQ(str(mapping, shuffle, architecture()), "L3[out,in] c1=2 - L2[in] c0=3X - L1[out] h4 - L0[] h1");
  EXPECT_EQ(parse_mapping(str(mapping, shuffle, architecture()), shuffle, architecture()), mapping);
}

TEST(Mapping, DrawsTheNestedLoops) {
  const Mapping mapping =
      parse_mapping("L3[WIO] P2 R3 - L2[WI] N1 K4X - L1[O] K2 S3 Q4 C3X - L0[W] P2", problem(), architecture());
  EXPECT_EQ(nested_loops(mapping, problem(), architecture()),
            "dram: O, I, W\n"
            "  for P in 0..2\n"
            "    for R in 0..3\n"
            "      scratchpad: I, W\n"
            "        for K in 0..4 across x\n"
            "          accumulator: O\n"
            "            for K in 0..2\n"
            "              for S in 0..3\n"
            "                for Q in 0..4\n"
            "                  for C in 0..3 across x\n"
            "                    register: W\n"
            "                      for P in 0..2\n"
            "                        compute\n");
}

TEST(Mapping, SaysWhatIsWrongWithALine) {
  const auto read = [](const std::string& text) {
    return message_of([&] { parse_mapping(text, problem(), architecture()); });
  };
  EXPECT_EQ(read("L3[WIO] P2"), "the mapping has 1 levels between ` - `, architecture gemmini has 4");
  EXPECT_EQ(read("L3[WIO] - L2[WI] - cache[O] - L0[W]"),
            "expected level L1 or accumulator, found `cache` in the mapping");
  EXPECT_EQ(read("L3 P2 - L2[WI] - L1[O] - L0[W]"), "expected LEVEL[OPERANDS] in `L3 P2` of the mapping");
  EXPECT_EQ(read("L3[WIX] - L2[WI] - L1[O] - L0[W]"),
            "level dram of the mapping keeps `X`, which is no operand\n  known: O, I, W");
  EXPECT_EQ(read("L3[WIO] Z4 - L2[WI] - L1[O] - L0[W]"),
            "expected a loop like R4, found `Z4` at level dram of the mapping");
  EXPECT_EQ(read("L3[WIO] P - L2[WI] - L1[O] - L0[W]"),
            "expected a loop like R4, found `P` at level dram of the mapping");
  EXPECT_EQ(read("L3[WIO] P0 - L2[WI] - L1[O] - L0[W]"), "the loop over P has bound 0, at least 1 is needed");
  EXPECT_EQ(read("L3[WI] P2 - L2[WI] - L1[O] - L0[W]"), "the outermost level dram must keep O");
  EXPECT_EQ(read("L3[WIO] - L2[WI] K4X P2 - L1[O] - L0[W]"),
            "level scratchpad: the loop over P lies inside a spatial loop: spatial loops come last in a level");
  std::string many = "L3[WIO]";
  for (int i = 0; i < 65; ++i) many += " P2";
  EXPECT_EQ(read(many + " - L2[WI] - L1[O] - L0[W]"), "the mapping has more than 64 loops");
}

TEST(Mapping, RefusesWhatTheEvaluatorTakesForGranted) {
  const auto check = [](auto change) {
    Mapping mapping = empty_mapping(problem(), architecture());
    mapping.add(2, 2, 1);
    mapping.add(3, 2, 2);
    change(mapping);
    return message_of([&] { check_mapping(problem(), architecture(), mapping); });
  };
  EXPECT_EQ(check([](Mapping&) {}), "nothing");
  EXPECT_EQ(check([](Mapping& m) { m.loops[0].dim = 9; }),
            "loop 0 of the mapping runs over dimension 9, the problem has 7");
  EXPECT_EQ(check([](Mapping& m) { m.loops[1].level = 4; }),
            "the loop over Q belongs to level 4, the architecture has 4");
  EXPECT_EQ(check([](Mapping& m) { m.loops[1].level = 0; }),
            "the loop over Q belongs to a level outside that of the loop around it");
  EXPECT_EQ(check([](Mapping& m) { m.keeps[1] |= 1U << 7; }),
            "I is kept at a level that the architecture does not have");
}

TEST(Mapping, RandomMappingsSurviveTheirLine) {
  constexpr std::uint64_t seed = 5;
  for (std::uint64_t i = 0; i < 2000; ++i) {
    Rng rng(seed, i);
    Mapping mapping = empty_mapping(problem(), architecture());
    for (int l = 0; l < 4; ++l) {
      const auto loops = static_cast<int>(rng.below(4));
      for (int k = 0; k < loops; ++k) mapping.add(static_cast<int>(rng.below(7)), rng.between(2, 9), l);
      if (rng.chance(0.5))
        mapping.add(static_cast<int>(rng.below(7)), rng.between(2, 9), l,
                    rng.chance(0.5) ? LoopKind::spatial_x : LoopKind::spatial_y);
    }
    const std::string line = str(mapping, problem(), architecture());
    EXPECT_EQ(parse_mapping(line, problem(), architecture()), mapping)
        << "seed " << seed << ", stream " << i << ": " << line;
  }
}

}  // namespace
}  // namespace kasimir
