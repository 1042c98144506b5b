// SPDX-License-Identifier: Apache-2.0
#include "kasimir/size/size.h"

#include "support/thrown.h"

#include <gtest/gtest.h>

#include <set>

namespace kasimir {
namespace {

TEST(Symbol, IsFoundByItsName) {
  std::set<std::string_view> names;
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    names.insert(symbol_name(symbol));
    EXPECT_EQ(symbol_from_name(symbol_name(symbol)), symbol);
  }
  EXPECT_EQ(names.size(), static_cast<std::size_t>(symbol_count));
  EXPECT_EQ(symbol_name(Symbol::Ci), "Ci");
  EXPECT_EQ(symbol_name(Symbol::x5), "x5");
}

TEST(Symbol, IsNotFoundByAnyOtherName) {
  for (const char* name : {"", "ci", "x", "x6", "C", "Ci "}) EXPECT_EQ(symbol_from_name(name), std::nullopt) << name;
}

TEST(Symbol, BelongsToAtMostOneClass) {
  std::string free;
  std::string choice;
  for (int i = 0; i < symbol_count; ++i) {
    const auto symbol = static_cast<Symbol>(i);
    if (is_free(symbol)) free += symbol_name(symbol);
    if (is_choice(symbol)) choice += symbol_name(symbol);
  }
  EXPECT_EQ(free, "x0x1x2x3x4x5");
  EXPECT_EQ(choice, "grk");
  EXPECT_EQ(free_symbol(free_symbol_count - 1), Symbol::x5);
}

TEST(Binding, HoldsNumbersForSymbols) {
  Binding binding;
  EXPECT_EQ(binding.str(), "");
  EXPECT_FALSE(binding.has(Symbol::Ci));
  binding.set(Symbol::s, 1).set(Symbol::Ci, 64);
  EXPECT_TRUE(binding.has(Symbol::Ci));
  EXPECT_EQ(binding[Symbol::Ci], 64);
  EXPECT_EQ(binding[Symbol::Co], 0);
  EXPECT_EQ(binding.str(), "Ci=64 s=1");
  EXPECT_EQ(binding, Binding(binding).set(Symbol::Ci, 64));
  EXPECT_NE(binding, Binding(binding).set(Symbol::Ci, 32));
}

TEST(Binding, RefusesANumberBelowOne) {
  EXPECT_EQ(testing::thrown_by([] { Binding().set(Symbol::g, 0); }),
            "2: g must be a whole number of at least 1, found 0");
  EXPECT_EQ(testing::thrown_by([] { Binding().set(Symbol::Ci, -3); }),
            "2: Ci must be a whole number of at least 1, found -3");
}

TEST(Divisors, AreAllThereInAscendingOrder) {
  EXPECT_EQ(divisors(1), (std::vector<std::int64_t>{1}));
  EXPECT_EQ(divisors(36), (std::vector<std::int64_t>{1, 2, 3, 4, 6, 9, 12, 18, 36}));
  for (std::int64_t n = 1; n <= 500; ++n) {
    std::vector<std::int64_t> wanted;
    for (std::int64_t d = 1; d <= n; ++d) {
      if (n % d == 0) wanted.push_back(d);
    }
    ASSERT_EQ(divisors(n), wanted) << n;
  }
}

TEST(Divisors, ExistForPositiveNumbersOnly) {
  EXPECT_EQ(testing::thrown_by([] { return divisors(0); }).substr(0, 34), "70: internal error: divisors of 0 ");
}

}  // namespace
}  // namespace kasimir
