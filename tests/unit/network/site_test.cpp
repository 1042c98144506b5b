// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/site.h"

#include "kasimir/base/rng.h"
#include "unit/network/message.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

TEST(Site, PrintsItsFiveNumbers) { EXPECT_EQ((Site{64, 128, 16, 8, 2}.str()), "Ci=64 Co=128 H=16 W=8 s=2"); }

TEST(Site, ReadsWhatItPrints) {
  constexpr std::uint64_t seed = 1;
  SCOPED_TRACE(testing::Message() << "seed " << seed);
  Rng rng(seed);
  for (int i = 0; i < 200; ++i) {
    const Site site{rng.between(1, 4096), rng.between(1, 4096), rng.between(1, 512), rng.between(1, 512),
                    rng.between(1, 4)};
    EXPECT_EQ(Site::parse(site.str()), site);
  }
}

TEST(Site, ReadsAnyOrderAndLeavesStrideAtOne) {
  EXPECT_EQ(Site::parse(" W=8  H=16 Co=128 Ci=64 "), (Site{64, 128, 16, 8, 1}));
}

TEST(Site, ReadsTheShortForm) {
  EXPECT_EQ(Site::parse("64->128x16x8/2"), (Site{64, 128, 16, 8, 2}));
  EXPECT_EQ(Site::parse("64 -> 128 x 16 x 8"), (Site{64, 128, 16, 8, 1}));
}

TEST(Site, BindsAllSiteSymbolsButNotTheBatch) {
  const Binding binding = Site{64, 128, 16, 8, 2}.binding();
  EXPECT_EQ(binding[Symbol::Ci], 64);
  EXPECT_EQ(binding[Symbol::Co], 128);
  EXPECT_EQ(binding[Symbol::H], 16);
  EXPECT_EQ(binding[Symbol::W], 8);
  EXPECT_EQ(binding[Symbol::s], 2);
  EXPECT_FALSE(binding.has(Symbol::N));
  EXPECT_FALSE(binding.has(Symbol::g));
}

TEST(Site, NamesWhatItDidNotUnderstand) {
  const std::string forms = "\n  write a site as `Ci=64 Co=128 H=16 W=16 s=2` or `64->128x16x16/2`";
  const auto message = [](const char* text) { return message_of([&] { (void)Site::parse(text); }); };
  EXPECT_EQ(message("Ci=64 Co=x H=1 W=1"),
            "site `Ci=64 Co=x H=1 W=1`: Co is `x`, needed a whole number of at least 1" + forms);
  EXPECT_EQ(message("Ci=64 Co=0 H=1 W=1"),
            "site `Ci=64 Co=0 H=1 W=1`: Co is `0`, needed a whole number of at least 1" + forms);
  EXPECT_EQ(message("Ci=64 Co=64 H=8"), "site `Ci=64 Co=64 H=8`: W is missing" + forms);
  EXPECT_EQ(message("Ci=64 K=3"), "site `Ci=64 K=3`: unknown name `K`" + forms);
  EXPECT_EQ(message("Ci=64 Ci=3"), "site `Ci=64 Ci=3`: Ci is given twice" + forms);
  EXPECT_EQ(message("64"), "site `64`: `64` has no `=`" + forms);
  EXPECT_EQ(message(""), "site ``: Ci is missing" + forms);
  EXPECT_EQ(message("64->64x16"), "site `64->64x16`: found 2 numbers after `->`, needed 3" + forms);
  EXPECT_EQ(message("64->64x16x16/two"),
            "site `64->64x16x16/two`: s is `two`, needed a whole number of at least 1" + forms);
}

}  // namespace
}  // namespace kasimir
