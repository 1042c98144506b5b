// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/space.h"

#include "support/thrown.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kasimir {
namespace {

using testing::thrown_by;

ChoiceSpace small_space() { return {{{"first", {"conv", "skip"}}, {"second", {"conv", "a:b", "skip"}}}, {4, 8}}; }

TEST(ChoiceSpace, ADesignIsReadBackFromItsText) {
  const ChoiceSpace space = small_space();
  const ChoiceDesign design{{1, 0}, {1, 1}};
  EXPECT_EQ(str(design, space), "skip:4 a:b:8");
  EXPECT_EQ(parse_design("  skip:4   a:b:8 ", space), design);
}

TEST(ChoiceSpace, SaysWhatIsWrongWithTheTextOfADesign) {
  const ChoiceSpace space = small_space();
  EXPECT_EQ(thrown_by([&] { return parse_design("conv:4", space); }), "2: a design of 1 blocks, needed: 2");
  EXPECT_EQ(thrown_by([&] { return parse_design("conv:4 con:8", space); }),
            "2: no operator `con` in block second\n  did you mean `conv`?");
  EXPECT_EQ(thrown_by([&] { return parse_design("conv:4 conv:5", space); }),
            "2: 5 bits for block second, needed: one of 4, 8");
  EXPECT_EQ(thrown_by([&] { return parse_design("conv:4 conv", space); }),
            "2: `conv` for block second, needed: OPERATOR:BITS");
}

TEST(ChoiceSpace, RefusesSpacesThatAreNone) {
  const auto why = [](const ChoiceSpace& space) {
    return thrown_by([&] {
      require_legal(space);
      return 0;
    });
  };
  EXPECT_EQ(why({{}, {8}}), "2: a space of choices without blocks, needed: at least one");
  EXPECT_EQ(why({{{"one", {"conv"}}}, {}}), "2: a space of choices without bit widths, needed: at least one");
  EXPECT_EQ(why({{{"one", {}}}, {8}}), "2: block one has no operators, needed: at least one");
  EXPECT_EQ(why({{{"one", {"conv", "conv"}}}, {8}}), "2: block one has operator `conv` twice");
  EXPECT_EQ(why({{{"one", {"a b"}}}, {8}}), "2: operator `a b` of block one, needed: a name without white space");
}

TEST(ChoiceSpace, RefusesDesignsOfOtherSpaces) {
  const auto why = [](const ChoiceDesign& design) {
    return thrown_by([&] {
      require_legal(design, small_space());
      return 0;
    });
  };
  EXPECT_EQ(why({{0, 0}}), "2: a design of 1 blocks, needed: 2");
  EXPECT_EQ(why({{2, 0}, {0, 0}}), "2: block first of the design takes operator 2 and bits 0, there are 2 and 2");
}

TEST(ChoiceSpace, CountsItsNetworks) { EXPECT_NEAR(small_space().log10_size(), std::log10(4.0 * 6.0), 1e-12); }

TEST(ChoiceNumbers, ProbabilitiesAddUpAndRuledOutChoicesHaveNone) {
  ChoiceNumbers logits = choice_numbers(small_space());
  logits.op[1] = {1, -std::numeric_limits<double>::infinity(), 2};
  const ChoiceNumbers p = probabilities(logits);
  EXPECT_DOUBLE_EQ(p.op[0][0], 0.5);
  EXPECT_EQ(p.op[1][1], 0);
  EXPECT_DOUBLE_EQ(p.op[1][0] + p.op[1][2], 1);
  EXPECT_DOUBLE_EQ(p.op[1][2] / p.op[1][0], std::exp(1.0));
  EXPECT_DOUBLE_EQ(log_probabilities(p)[1][2][0], std::log(p.op[1][2]) + std::log(0.5));
}

TEST(ChoiceNumbers, TheLikeliestDesignTakesTheBitsOfItsOwnOperator) {
  ChoiceNumbers logits = choice_numbers(small_space());
  logits.op[1] = {0, 1, 0};
  logits.bits[1][1] = {0, 3};
  logits.bits[1][0] = {5, 0};
  EXPECT_EQ(most_likely(logits), (ChoiceDesign{{0, 0}, {1, 1}}));
}

TEST(ChoiceNumbers, EntropyIsThatOfEqualChancesAtTheStart) {
  const ChoiceSpace space{{{"one", {"a", "b"}}}, {4, 8}};
  EXPECT_NEAR(mean_entropy(probabilities(choice_numbers(space))), std::log(2.0), 1e-12);
}

}  // namespace
}  // namespace kasimir
