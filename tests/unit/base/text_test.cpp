// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"

#include "kasimir/base/rng.h"

#include <gtest/gtest.h>

#include <limits>

namespace kasimir {
namespace {

using Names = std::vector<std::string>;

const Names networks = {"resnet8", "resnet20", "resnet18", "vgg16", "mobilenet_v2", "densenet121"};

TEST(Split, KeepsEmptyParts) {
  EXPECT_EQ(split("a,b", ','), (Names{"a", "b"}));
  EXPECT_EQ(split(",a,,", ','), (Names{"", "a", "", ""}));
  EXPECT_EQ(split("", ','), (Names{""}));
}

TEST(Join, IsTheInverseOfSplit) {
  EXPECT_EQ(join({"a", "b", "c"}, ", "), "a, b, c");
  EXPECT_EQ(join({}, ", "), "");
  for (const std::string text : {"", ",", "a", "a,b,,c,"}) EXPECT_EQ(join(split(text, ','), ","), text);
}

TEST(Trim, TakesWhiteSpaceOffBothEnds) {
  EXPECT_EQ(trim(" \ta b\r\n"), "a b");
  EXPECT_EQ(trim(" \n "), "");
  EXPECT_EQ(trim(""), "");
}

TEST(Nearest, FindsASlipOfTheFingers) {
  EXPECT_EQ(nearest("resnte20", networks), (Names{"resnet20"}));
  EXPECT_EQ(nearest("vg16", networks), (Names{"vgg16"}));
  EXPECT_EQ(nearest("mobilnet_v2", networks), (Names{"mobilenet_v2"}));
}

TEST(Nearest, PutsTheNearestFirstAndGivesThreeAtMost) {
  EXPECT_EQ(nearest("resnet28", networks), (Names{"resnet8", "resnet20", "resnet18"}));
  EXPECT_EQ(nearest("aa", {"ab", "ac", "ad", "ae"}), (Names{"ab", "ac", "ad"}));
}

TEST(Nearest, TakesTheBeginningOfAName) {
  EXPECT_EQ(nearest("densenet", networks), (Names{"densenet121"}));
  EXPECT_EQ(nearest("res", networks), (Names{"resnet8", "resnet20", "resnet18"}));
}

TEST(Nearest, PrefersAnotherCaseToAnotherLetter) {
  EXPECT_EQ(nearest("ci", {"Co", "Ci", "g"}), (Names{"Ci"}));
  EXPECT_EQ(nearest("RELU", {"gelu", "relu"}), (Names{"relu"}));
}

TEST(Nearest, GivesNothingWhereNothingIsPlausible) {
  EXPECT_EQ(nearest("q", {"g", "r", "k"}), Names{});
  EXPECT_EQ(nearest("transformer", networks), Names{});
  EXPECT_EQ(nearest("", networks), Names{});
  EXPECT_EQ(nearest("a", {}), Names{});
}

TEST(Suggestion, AsksForTheNearNames) {
  EXPECT_EQ(suggestion("vg16", networks), "did you mean `vgg16`?");
  EXPECT_EQ(suggestion("aa", {"ab", "ac"}), "did you mean `ab` or `ac`?");
  EXPECT_EQ(suggestion("aa", {"ab", "ac", "ad"}), "did you mean `ab`, `ac` or `ad`?");
}

TEST(Suggestion, ListsAllNamesWhereNoneIsNear) {
  EXPECT_EQ(suggestion("zzz", {"gelu", "relu"}), "known: gelu, relu");
  EXPECT_EQ(suggestion("zzz", {}), "known: none");
}

TEST(ParseInteger, TakesWholeNumbersOnly) {
  EXPECT_EQ(parse_integer("42"), 42);
  EXPECT_EQ(parse_integer("-7"), -7);
  EXPECT_EQ(parse_integer("9223372036854775807"), std::numeric_limits<std::int64_t>::max());
  for (const char* wrong : {"", " 1", "1 ", "1.0", "1e3", "0x10", "+1", "ten", "-", "9223372036854775808"}) {
    EXPECT_EQ(parse_integer(wrong), std::nullopt) << wrong;
  }
}

TEST(ParseNumber, TakesFiniteDecimalsOnly) {
  EXPECT_EQ(parse_number("0.25"), 0.25);
  EXPECT_EQ(parse_number("-3"), -3.0);
  EXPECT_EQ(parse_number("1e-4"), 1e-4);
  for (const char* wrong : {"", "1,5", "1.5x", " 1", "nan", "inf", "1e999", "--1", "."}) {
    EXPECT_EQ(parse_number(wrong), std::nullopt) << wrong;
  }
}

TEST(Grouped, SetsACommaBeforeEachThreeDigits) {
  EXPECT_EQ(grouped(0), "0");
  EXPECT_EQ(grouped(999), "999");
  EXPECT_EQ(grouped(1000), "1,000");
  EXPECT_EQ(grouped(1234567), "1,234,567");
  EXPECT_EQ(grouped(-123), "-123");
  EXPECT_EQ(grouped(-123456), "-123,456");
  EXPECT_EQ(grouped(std::numeric_limits<std::int64_t>::min()), "-9,223,372,036,854,775,808");
}

TEST(Si, ShowsThreeDigitsAndAPrefix) {
  EXPECT_EQ(si(7), "7");
  EXPECT_EQ(si(12.34), "12.3");
  EXPECT_EQ(si(456e3), "456k");
  EXPECT_EQ(si(12345678), "12.3M");
  EXPECT_EQ(si(1.5e9), "1.5G");
  EXPECT_EQ(si(-2.5e12), "-2.5T");
  EXPECT_EQ(si(0.0015), "1.5m");
  EXPECT_EQ(si(0.25), "250m");
  EXPECT_EQ(si(12e-6), "12u");
  EXPECT_EQ(si(100), "100");
}

TEST(Si, RoundsBeforeItChoosesThePrefix) {
  EXPECT_EQ(si(999.4), "999");
  EXPECT_EQ(si(999.6), "1k");
  EXPECT_EQ(si(999999), "1M");
  EXPECT_EQ(si(0.9999), "1");
}

TEST(Si, ShowsWhatHasNoPrefixAsPowerOfTen) {
  EXPECT_EQ(si(0), "0");
  EXPECT_EQ(si(-0.0), "0");
  EXPECT_EQ(si(1.5e18), "1.5E");
  EXPECT_EQ(si(1.5e21), "1.5e+21");
  EXPECT_EQ(si(2e-18), "2a");
  EXPECT_EQ(si(2e-19), "2e-19");
  EXPECT_EQ(si(std::numeric_limits<double>::infinity()), "inf");
  EXPECT_EQ(si(std::numeric_limits<double>::quiet_NaN()), "nan");
}

TEST(DurationText, ShowsTwoUnitsAtMost) {
  EXPECT_EQ(duration_text(0), "0 s");
  EXPECT_EQ(duration_text(450e-6), "450 us");
  EXPECT_EQ(duration_text(0.85), "850 ms");
  EXPECT_EQ(duration_text(12.34), "12.3 s");
  EXPECT_EQ(duration_text(245), "4 m 05 s");
  EXPECT_EQ(duration_text(7800), "2 h 10 m");
  EXPECT_EQ(duration_text(3 * 86400 + 4 * 3600), "3 d 04 h");
  EXPECT_EQ(duration_text(-2), "-2.0 s");
  EXPECT_EQ(duration_text(std::numeric_limits<double>::infinity()), "unknown");
}

TEST(DurationText, NeverShowsSixtyOfAUnit) {
  EXPECT_EQ(duration_text(0.9996e-3), "1 ms");
  EXPECT_EQ(duration_text(0.9996), "1.0 s");
  EXPECT_EQ(duration_text(59.94), "59.9 s");
  EXPECT_EQ(duration_text(59.96), "1 m 00 s");
  EXPECT_EQ(duration_text(3599.4), "59 m 59 s");
  EXPECT_EQ(duration_text(3599.6), "1 h 00 m");
  EXPECT_EQ(duration_text(86400 - 29), "1 d 00 h");
}

TEST(GlobMatch, KnowsStarAndQuestionMark) {
  EXPECT_TRUE(glob_match("layer*.conv?", "layer1.0.conv2"));
  EXPECT_TRUE(glob_match("*", ""));
  EXPECT_TRUE(glob_match("", ""));
  EXPECT_TRUE(glob_match("a**b", "ab"));
  EXPECT_TRUE(glob_match("*ab", "aab"));
  EXPECT_FALSE(glob_match("layer*.conv?", "layer1.0.conv"));
  EXPECT_FALSE(glob_match("?", ""));
  EXPECT_FALSE(glob_match("conv", "conv1"));
  EXPECT_FALSE(glob_match("conv1", "conv"));
  EXPECT_FALSE(glob_match("Conv", "conv"));
}

bool slow_match(std::string_view pattern, std::string_view text) {
  if (pattern.empty()) return text.empty();
  if (pattern[0] == '*') {
    return slow_match(pattern.substr(1), text) || (!text.empty() && slow_match(pattern, text.substr(1)));
  }
  return !text.empty() && (pattern[0] == '?' || pattern[0] == text[0]) && slow_match(pattern.substr(1), text.substr(1));
}

TEST(GlobMatch, AgreesWithItsDefinition) {
  constexpr std::uint64_t seed = 1;
  Rng rng(seed);
  const auto random_text = [&](std::string_view letters, std::uint64_t longest) {
    std::string text(rng.below(longest + 1), ' ');
    for (char& c : text) c = rng.pick(letters);
    return text;
  };
  int matches = 0;
  for (int i = 0; i < 20000; ++i) {
    const std::string pattern = random_text("ab*?", 6);
    const std::string text = random_text("ab", 7);
    ASSERT_EQ(glob_match(pattern, text), slow_match(pattern, text)) << pattern << " " << text << ", seed " << seed;
    matches += glob_match(pattern, text) ? 1 : 0;
  }
  EXPECT_GT(matches, 1000);
}

TEST(GlobMatch, EndsSoonOnAPatternThatInvitesBacktracking) {
  std::string pattern;
  for (int i = 0; i < 50; ++i) pattern += "a*";
  EXPECT_FALSE(glob_match(pattern + "b", std::string(2000, 'a')));  // 10^80 ways to divide the text
}

}  // namespace
}  // namespace kasimir
