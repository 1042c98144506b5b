// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/decode.h"

#include "kasimir/base/rng.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using testing::thrown_by;

constexpr std::uint64_t seeds = 20;

struct Random {
  ChoiceSpace space;
  ChoiceTable scores;
  LoadTable loads;
};

Random random_problem(std::uint64_t seed, Aggregate aggregate) {
  Rng rng(seed);
  Random one;
  for (int l = 0; l < 5; ++l) one.space.blocks.push_back({fmt::format("b{}", l), {"s", "m", "l"}});
  one.space.bits = {4, 8};
  one.scores = choice_table(one.space);
  one.loads = load_table(one.space, aggregate, {"x", "y"});
  one.loads.base = {0.3, 0.2};
  for (std::size_t l = 0; l < 5; ++l)
    for (std::size_t o = 0; o < 3; ++o)
      for (std::size_t j = 0; j < 2; ++j) {
        const double size = 0.2 + rng.unit();
        one.scores[l][o][j] = size + 0.5 * rng.normal();
        one.loads.loads[l][o][j] = {{0, size * (0.5 + rng.unit())}, {1, size * (0.5 + rng.unit())}};
      }
  return one;
}

// All designs within the target, best first.
std::vector<Decoded> enumerated(const Random& one, double target,
                                const std::function<double(const ChoiceDesign&)>& cost) {
  std::vector<Decoded> all;
  ChoiceDesign design(5);
  for (std::size_t code = 0; code < 7776; ++code) {
    std::size_t rest = code;
    for (BlockChoice& choice : design) {
      choice = {rest % 6 / 2, rest % 2};
      rest /= 6;
    }
    if (cost(design) <= target) all.push_back({design, sum_of(one.scores, design), cost(design)});
  }
  std::sort(all.begin(), all.end(), [](const auto& a, const auto& b) { return a.score > b.score; });
  return all;
}

TEST(Decode, IsExactOnTables) {
  for (const Aggregate aggregate : {Aggregate::max, Aggregate::sum})
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
      SCOPED_TRACE(fmt::format("seed {}", seed));
      const Random one = random_problem(seed, aggregate);
      TableTarget hardware(one.space, one.loads, "cycles");
      const double target = aggregate == Aggregate::max ? 3.0 : 5.5;
      const auto all = enumerated(one, target, [&](const auto& design) { return hardware.cost(design); });
      const DecodeAnswer answer = decode(one.scores, adapted_limit(hardware, target, all.front().design));
      EXPECT_TRUE(answer.exact);
      ASSERT_EQ(answer.designs.size(), std::min<std::size_t>(8, all.size()));
      for (std::size_t i = 0; i < answer.designs.size(); ++i) {
        EXPECT_NEAR(answer.designs[i].score, all[i].score, 1e-12);
        EXPECT_LE(answer.designs[i].cost, target * (1 + 1e-9));
        EXPECT_NEAR(answer.designs[i].cost, hardware.cost(answer.designs[i].design), 1e-9);
      }
    }
}

TEST(Decode, KeepsLimitsOfProductsAndComesCloseToTheBest) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Random one = random_problem(seed, Aggregate::product);
    TableTarget hardware(one.space, one.loads, "pJ cycles");
    const auto all = enumerated(one, 9, [&](const auto& design) { return hardware.cost(design); });
    const DecodeAnswer answer = decode(one.scores, adapted_limit(hardware, 9, all.front().design));
    ASSERT_FALSE(answer.designs.empty());
    for (const Decoded& one_design : answer.designs) EXPECT_LE(hardware.cost(one_design.design), 9 * (1 + 1e-9));
    worst = std::max(worst, all.front().score - answer.designs.front().score);
  }
  EXPECT_LE(worst, 0.05);
}

TEST(Decode, AsksForTheCostWhereTheBoundIsNotExact) {
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const Random one = random_problem(seed, Aggregate::max);
    // A cost with a part that the bound does not see.
    const auto cost = [&](const ChoiceDesign& design) {
      return cost_of(one.loads, design) * (1 + 0.1 * static_cast<double>(design[0].op));
    };
    const auto all = enumerated(one, 3.2, cost);
    const DecodeAnswer answer = decode(one.scores, {3.2, {one.loads, false}, cost});
    EXPECT_TRUE(answer.exact);
    ASSERT_FALSE(answer.designs.empty());
    EXPECT_NEAR(answer.designs.front().score, all.front().score, 1e-12);
  }
}

TEST(Decode, FindsGoodDesignsWithFewLooksAndALooseBound) {
  double worst = 0;
  for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
    const Random one = random_problem(seed, Aggregate::max);
    const auto cost = [&](const ChoiceDesign& design) { return 1.4 * cost_of(one.loads, design); };
    const auto all = enumerated(one, 4, cost);
    const DecodeAnswer answer = decode(one.scores, {4, {one.loads, false}, cost}, {.looks = 20});
    ASSERT_FALSE(answer.designs.empty()) << seed;
    for (const Decoded& design : answer.designs) EXPECT_LE(cost(design.design), 4 * (1 + 1e-9)) << seed;
    worst = std::max(worst, all.front().score - answer.designs.front().score);
  }
  EXPECT_LE(worst, 0.2);
}

TEST(Decode, FindsNothingWhereNothingFits) {
  const Random one = random_problem(1, Aggregate::sum);
  TableTarget hardware(one.space, one.loads, "us");
  const DecodeAnswer answer = decode(one.scores, adapted_limit(hardware, 0.1, ChoiceDesign(5)));
  EXPECT_TRUE(answer.exact);
  EXPECT_TRUE(answer.designs.empty());
}

TEST(Decode, NeverTakesAChoiceThatIsRuledOut) {
  Random one = random_problem(2, Aggregate::sum);
  for (auto& block : one.scores) block[1] = {-std::numeric_limits<double>::infinity(), block[1][1]};
  TableTarget hardware(one.space, one.loads, "us");
  const DecodeAnswer answer = decode(one.scores, adapted_limit(hardware, 7, ChoiceDesign(5)));
  ASSERT_FALSE(answer.designs.empty());
  for (const Decoded& design : answer.designs)
    for (const BlockChoice& choice : design.design) EXPECT_NE(choice, (BlockChoice{1, 0}));
}

TEST(Decode, TheCheapestChoiceIsConsideredBesidesTheTopOnes) {
  Random one = random_problem(3, Aggregate::sum);
  for (std::size_t l = 0; l < 5; ++l) {
    one.loads.loads[l][0][0] = {{0, 0.001}};
    one.scores[l][0][0] = -9;
  }
  TableTarget hardware(one.space, one.loads, "us");
  const DecodeAnswer answer = decode(one.scores, adapted_limit(hardware, 0.51, ChoiceDesign(5)), {.top = 2});
  ASSERT_FALSE(answer.designs.empty());
  EXPECT_EQ(answer.designs.front().design, (ChoiceDesign(5, {0, 0})));
}

TEST(Decode, WantsAtLeastOneDesign) {
  const Random one = random_problem(1, Aggregate::sum);
  TableTarget hardware(one.space, one.loads, "us");
  EXPECT_EQ(thrown_by([&] { return decode(one.scores, adapted_limit(hardware, 1, ChoiceDesign(5)), {.best = 0}); }),
            "2: 0 designs to decode, needed: at least 1");
}

}  // namespace
}  // namespace kasimir
