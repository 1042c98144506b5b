// SPDX-License-Identifier: Apache-2.0
#include "kasimir/size/size.h"

#include "support/thrown.h"

#include <gtest/gtest.h>

#include <limits>

namespace kasimir {
namespace {

using enum Symbol;

std::string size_error(std::string_view text) {
  return testing::thrown_by([&] { return Size::parse(text); });
}

std::string sum_error(std::string_view text) {
  return testing::thrown_by([&] { return SizeSum::parse(text); });
}

TEST(ParseSize, ReadsWhatStrPrints) {
  for (const std::string text : {"1", "0", "-1", "Ci", "-Ci/2", "9*Ci*Co/g", "Co/(4*g)", "1/(2*H)", "Ci^2", "1/Ci^2",
                                 "3*N*x5^3/(2*r*k^2)", "-9223372036854775808", "-9223372036854775808*Ci/3",
                                 "9223372036854775807*Ci^100/(9223372036854775806*W^100)"}) {
    EXPECT_EQ(Size::parse(text).str(), text);
  }
}

TEST(ParseSize, ReadsOtherTextsOfASizeToo) {
  const auto again = [](std::string_view text) { return Size::parse(text).str(); };
  EXPECT_EQ(again(" Co * Ci /\t4 "), "Ci*Co/4");
  EXPECT_EQ(again("Ci/4/g"), "Ci/(4*g)");
  EXPECT_EQ(again("Ci/4*g"), "Ci*g/4");
  EXPECT_EQ(again("(Ci*2)/(4*(g*Co))"), "Ci/(2*Co*g)");
  EXPECT_EQ(again("(2*Ci)^2"), "4*Ci^2");
  EXPECT_EQ(again("Ci^-1"), "1/Ci");
  EXPECT_EQ(again("-2^2"), "-4");
  EXPECT_EQ(again("(-2)^2"), "4");
  EXPECT_EQ(again("Ci^0"), "1");
  EXPECT_EQ(again("007"), "7");
}

TEST(ParseSize, SaysWhatWasExpectedWhereAndWhatWasFound) {
  EXPECT_EQ(size_error("Ci*/4"), "2: size `Ci*/4`: expected a number or a symbol at column 4, found `/`");
  EXPECT_EQ(size_error(""), "2: size ``: expected a number or a symbol at column 1, found the end");
  EXPECT_EQ(size_error("Ci*"), "2: size `Ci*`: expected a number or a symbol at column 4, found the end");
  EXPECT_EQ(size_error("Ci Co"), "2: size `Ci Co`: expected `*`, `/` or the end at column 4, found `Co`");
  EXPECT_EQ(size_error("Ci)"), "2: size `Ci)`: expected `*`, `/` or the end at column 3, found `)`");
  EXPECT_EQ(size_error("Ci + 1"), "2: size `Ci + 1`: expected `*`, `/` or the end at column 4, found `+`");
  EXPECT_EQ(size_error("Ci/(4*g"), "2: size `Ci/(4*g`: expected `*`, `/` or `)` at column 8, found the end");
  EXPECT_EQ(size_error("()"), "2: size `()`: expected a number or a symbol at column 2, found `)`");
  EXPECT_EQ(size_error("Ci*-2"), "2: size `Ci*-2`: expected a number or a symbol at column 4, found `-`");
  EXPECT_EQ(size_error("--2"), "2: size `--2`: expected a number or a symbol at column 2, found `-`");
  EXPECT_EQ(size_error("2Ci"), "2: size `2Ci`: expected `*` between a number and a symbol at column 2, found `Ci`");
  EXPECT_EQ(size_error("1.5"), "2: size `1.5`: expected `*`, `/` or the end at column 2, found `.`");
  EXPECT_EQ(size_error("Ci^g"), "2: size `Ci^g`: expected a whole number as power at column 4, found `g`");
  EXPECT_EQ(size_error("Ci^"), "2: size `Ci^`: expected a whole number as power at column 4, found the end");
}

TEST(ParseSize, CountsCharactersAndNotBytes) {
  EXPECT_EQ(size_error("Ci×Co"), "2: size `Ci×Co`: expected `*`, `/` or the end at column 3, found `×`");
  EXPECT_EQ(size_error("é*Ci"), "2: size `é*Ci`: expected a number or a symbol at column 1, found `é`");
}

TEST(ParseSize, SuggestsTheSymbolThatWasMeant) {
  EXPECT_EQ(size_error("4*ci"), "2: unknown symbol `ci` in size `4*ci` at column 3, did you mean `Ci`?");
  EXPECT_EQ(size_error("x9"), "2: unknown symbol `x9` in size `x9` at column 1, did you mean `x0`, `x1` or `x2`?");
  EXPECT_EQ(size_error("channels/2"),
            "2: unknown symbol `channels` in size `channels/2` at column 1, "
            "known: N, Ci, Co, H, W, s, g, r, k, x0, x1, x2, x3, x4, x5");
}

TEST(ParseSize, RefusesNumbersThatDoNotFit) {
  EXPECT_EQ(size_error("Ci*9223372036854775808"),
            "2: size `Ci*9223372036854775808`: the number 9223372036854775808 at column 4 overflows 64 bits");
  EXPECT_EQ(size_error("9223372036854775807*2"),
            "2: a size overflows 64 bits: 9223372036854775807 * 2\n"
            "  in size `9223372036854775807*2`, before column 22");
  EXPECT_EQ(size_error("Ci^101"), "2: a size has a power beyond 100: Ci^101\n  in size `Ci^101`, before column 7");
  EXPECT_EQ(size_error("Ci^60*Ci^60/2"),
            "2: a size has a power beyond 100: Ci^60 * Ci^60\n  in size `Ci^60*Ci^60/2`, before column 12");
  EXPECT_EQ(size_error("Ci^2147483648"),
            "2: size `Ci^2147483648`: the number 2147483648 at column 4 is too large for a power");
}

TEST(ParseSize, RefusesADivisionByZero) {
  EXPECT_EQ(size_error("Ci/0"), "2: a size divided by zero: Ci / 0\n  in size `Ci/0`, before column 5");
  EXPECT_EQ(size_error("0^-1"), "2: a size divided by zero: 0^-1\n  in size `0^-1`, before column 5");
}

TEST(ParseSize, RefusesParenthesesWithoutEnd) {
  const std::string deep(100000, '(');
  EXPECT_EQ(size_error(deep), "2: size `" + deep + "`: expected at most 32 nested parentheses at column 34, found `(`");
  EXPECT_EQ(Size::parse(std::string(32, '(') + "Ci" + std::string(32, ')')), Size(Ci));
}

TEST(ParseSum, ReadsWhatStrPrints) {
  for (const std::string text : {"0", "1", "-k + 1", "k/2 - 1/2", "Ci^2 + Ci*Co/(4*g) - 3*g/2 + 1/Ci",
                                 "Ci - 9223372036854775808", "-9223372036854775808*Ci - 1"}) {
    EXPECT_EQ(SizeSum::parse(text).str(), text);
  }
}

TEST(ParseSum, ReadsOtherTextsOfASumToo) {
  EXPECT_EQ(SizeSum::parse("1-k").str(), "-k + 1");
  EXPECT_EQ(SizeSum::parse("Ci + 1 + Ci").str(), "2*Ci + 1");
  EXPECT_TRUE(SizeSum::parse("1 - 1").is_zero());
}

TEST(ParseSum, SaysWhatWasExpectedWhereAndWhatWasFound) {
  EXPECT_EQ(sum_error(""), "2: sum ``: expected a number or a symbol at column 1, found the end");
  EXPECT_EQ(sum_error("Ci +"), "2: sum `Ci +`: expected a number or a symbol at column 5, found the end");
  EXPECT_EQ(sum_error("Ci - - 2"), "2: sum `Ci - - 2`: expected a number or a symbol at column 6, found `-`");
  EXPECT_EQ(sum_error("Ci 2"), "2: sum `Ci 2`: expected `*`, `/`, `+`, `-` or the end at column 4, found `2`");
  EXPECT_EQ(sum_error("1 + ci"), "2: unknown symbol `ci` in sum `1 + ci` at column 5, did you mean `Ci`?");
  EXPECT_EQ(sum_error("9223372036854775807 + 1"),
            "2: a size overflows 64 bits: 9223372036854775807 + 1\n"
            "  in sum `9223372036854775807 + 1`, before column 24");
}

}  // namespace
}  // namespace kasimir
