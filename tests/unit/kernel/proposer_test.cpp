// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/kernel.h"

#include <gtest/gtest.h>

#include <map>

namespace kasimir {
namespace {

std::map<std::string, int> widths(Proposer& proposer) {
  std::map<std::string, int> seen;
  for (int i = 0; i < 400; ++i) ++seen[proposer.draw_width().str()];
  return seen;
}

class Draws : public ::testing::Test {
 protected:
  Draws() {
    Binding choices;
    choices.set(Symbol::g, 4).set(Symbol::r, 3);
    sites = SiteSet({{8, 16, 2, 2, 1}}, choices);
  }
  SiteSet sites;
  Rng rng{7};
};

TEST_F(Draws, WidthsAreOpenFreshOrKnownSymbols) {
  Proposer proposer({}, sites, rng);
  proposer.open_symbols = {Symbol::x0};
  proposer.fresh_symbol = Symbol::x1;
  const auto seen = widths(proposer);
  EXPECT_EQ(seen.size(), 4U);
  for (const char* size : {"x0", "x1", "Co", "Co/r"}) EXPECT_GT(seen.at(size), 40) << size;
}

TEST_F(Draws, WidthsNeedNoFreeSymbol) {
  Proposer proposer({}, sites, rng);
  EXPECT_EQ(widths(proposer).size(), 2U);
}

TEST_F(Draws, ClosingWidthIsTheOutputs) {
  Proposer proposer({}, sites, rng);
  proposer.fresh_symbol = Symbol::x0;
  proposer.closing = true;
  EXPECT_EQ(widths(proposer), (std::map<std::string, int>{{"Co", 400}}));
}

TEST_F(Draws, FactorsDivideTheExtentAtEverySite) {
  Proposer proposer({}, sites, rng);
  std::map<std::string, int> seen;
  for (int i = 0; i < 200; ++i) ++seen[proposer.draw_factor(Size(Symbol::Ci))->str()];
  EXPECT_EQ(seen.size(), 2U);  // r = 3 does not divide 8
  EXPECT_GT(seen["g"], 50);
  EXPECT_GT(seen["Ci"], 50);
  EXPECT_EQ(proposer.draw_factor(Size(1)), std::nullopt);
}

}  // namespace
}  // namespace kasimir
