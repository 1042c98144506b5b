// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/kernel.h"

#include <gtest/gtest.h>

#include <map>

namespace kasimir {
namespace {

std::map<std::string, double> weights(const std::vector<Option>& options) {
  std::map<std::string, double> all;
  for (const Option& option : options) all[std::get<Size>(option.value).str()] += option.weight;
  return all;
}

class Offers : public ::testing::Test {
 protected:
  Offers() {
    Binding choices;
    choices.set(Symbol::g, 4).set(Symbol::r, 3);
    sites = SiteSet({{8, 16, 2, 2, 1}}, choices);
  }
  SiteSet sites;
};

TEST_F(Offers, WidthsAreOpenFreshOrKnownSymbols) {
  Proposer proposer({}, sites);
  proposer.open_symbols = {Symbol::x0};
  proposer.fresh_symbol = Symbol::x1;
  EXPECT_FALSE(proposer.asked_for_widths());
  const auto all = weights(proposer.widths());
  EXPECT_TRUE(proposer.asked_for_widths());
  EXPECT_EQ(all.size(), 4U);
  for (const char* size : {"x0", "x1", "Co", "Co/r"}) EXPECT_GT(all.at(size), 0.1) << size;
}

TEST_F(Offers, WidthsNeedNoFreeSymbol) { EXPECT_EQ(weights(Proposer({}, sites).widths()).size(), 2U); }

TEST_F(Offers, ClosingWidthIsTheOutputsWhateverSymbolsAreInUse) {
  Proposer proposer({}, sites);
  proposer.fresh_symbol = Symbol::x0;
  proposer.closing = true;
  EXPECT_EQ(weights(proposer.widths()), (std::map<std::string, double>{{"Co", 1.0}}));
  EXPECT_FALSE(proposer.asked_for_widths());
}

TEST_F(Offers, FactorsDivideTheExtentAtEverySite) {
  const Proposer proposer({}, sites);
  const auto all = weights(proposer.factors(Size(Symbol::Ci)));
  EXPECT_EQ(all.size(), 2U);  // r = 3 does not divide 8
  EXPECT_TRUE(all.contains("g") && all.contains("Ci"));
  EXPECT_TRUE(proposer.factors(Size(1)).empty());
}

TEST(Draw, TakesOffersAndOptionsByWeight) {
  const std::vector<Offer> offers{{1.0, {{{Size(1), 1.0}, {Size(2), 3.0}}}, {}},
                                  {3.0, {{{Size(3), 1.0}}}, {{Symbol::x0, Size(5)}}}};
  constexpr std::uint64_t seed = 7;
  Rng rng(seed);
  std::map<std::string, int> seen;
  constexpr int draws = 4000;
  for (int i = 0; i < draws; ++i) {
    const Draw drawn = draw(offers, rng);
    const std::string value = std::get<Size>(drawn.arguments.at(0)).str();
    EXPECT_EQ(drawn.substitutions.size(), value == "3" ? 1U : 0U);
    ++seen[value];
  }
  // Five standard deviations of a binomial count are 140 at most.
  EXPECT_NEAR(seen["1"], draws / 16.0, 140) << "seed " << seed;
  EXPECT_NEAR(seen["2"], draws * 3 / 16.0, 140) << "seed " << seed;
  EXPECT_NEAR(seen["3"], draws * 3 / 4.0, 140) << "seed " << seed;
}

}  // namespace
}  // namespace kasimir
