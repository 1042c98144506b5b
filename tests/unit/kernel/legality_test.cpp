// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/legality.h"

#include <gtest/gtest.h>

#include <limits>

namespace kasimir {
namespace {

SiteSet two_sites() {
  Binding choices;
  choices.set(Symbol::g, 4);
  return {{{8, 8, 4, 6, 1}, {12, 24, 2, 2, 2}}, choices};
}

TEST(SiteSet, KnowsWhatIsWholeAtEverySite) {
  const SiteSet sites = two_sites();
  EXPECT_TRUE(sites.whole(Size::parse("Ci/g")));
  EXPECT_TRUE(sites.whole(Size::parse("Co/8")));
  EXPECT_FALSE(sites.whole(Size::parse("Ci/8")));
  EXPECT_FALSE(sites.whole(Size::parse("H/3")));
  EXPECT_FALSE(sites.whole(Size(0)));
  EXPECT_FALSE(sites.whole(Size(Rational(1, 2))));
}

TEST(SiteSet, LeavesOpenSizesPossible) {
  const SiteSet sites = two_sites();
  EXPECT_TRUE(sites.whole(Size::parse("x0/7")));
  EXPECT_TRUE(sites.whole(Size::parse("Ci/r")));
  EXPECT_TRUE(SiteSet().whole(Size::parse("Ci/7")));
  EXPECT_FALSE(SiteSet().whole(Size(Rational(1, 7))));
}

TEST(SiteSet, ComparesByTextOrByNumbersAtEverySite) {
  const SiteSet sites = two_sites();
  EXPECT_TRUE(sites.equal(Size::parse("Ci/x0"), Size::parse("Ci/x0")));
  EXPECT_FALSE(sites.equal(Size(Symbol::Ci), Size(Symbol::Co)));
  EXPECT_TRUE(SiteSet({{8, 8, 4, 6, 1}}, {}).equal(Size(Symbol::Ci), Size(Symbol::Co)));
  EXPECT_TRUE(sites.equal(Size(Symbol::g), Size(4)));
  EXPECT_FALSE(sites.equal(Size(Symbol::x0), Size(4)));
  EXPECT_FALSE(SiteSet().equal(Size(Symbol::g), Size(4)));
}

TEST(SiteSet, GivesTheExtremesOverTheSites) {
  const SiteSet sites = two_sites();
  EXPECT_EQ(sites.largest(Size::parse("Ci*H")), 32.0);
  EXPECT_EQ(sites.smallest(Size::parse("Ci*H")), 24.0);
  EXPECT_EQ(sites.largest(Size::parse("Ci*x0")), 12.0);
  EXPECT_EQ(sites.smallest(Size(Symbol::x0)), std::numeric_limits<double>::infinity());
  EXPECT_EQ(sites.smallest(Size(5)), 5.0);
  EXPECT_EQ(SiteSet().smallest(Size(Symbol::H)), std::numeric_limits<double>::infinity());
}

}  // namespace
}  // namespace kasimir
