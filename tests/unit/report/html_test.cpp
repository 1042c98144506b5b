// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/html.h"

#include "kasimir/base/error.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "page.h"
#include "support/thrown.h"

namespace kasimir::report {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

TEST(Escape, LeavesNoCharacterThatActsAsMarkup) {
  EXPECT_EQ(escape("a <b> & \"c\" 'd'"), "a &lt;b&gt; &amp; &quot;c&quot; &#39;d&#39;");
  EXPECT_EQ(escape("one\n\ttwo ± ×"), "one\n\ttwo ± ×");
}

TEST(Escape, ReplacesControlCharactersAndWhatIsNotUtf8) {
  EXPECT_EQ(escape(std::string("a\0b\x1b[0m\x7f", 8)), "a\uFFFDb\uFFFD[0m\uFFFD");
  EXPECT_EQ(escape("\xff|\xc3|\xc3\xb6|\xe2\x82"), "\uFFFD|\uFFFD|\u00f6|\uFFFD\uFFFD");
  EXPECT_EQ(escape("\xc0\xaf"), "\uFFFD\uFFFD") << "an overlong form";
  EXPECT_EQ(escape("\xed\xa0\x80"), "\uFFFD\uFFFD\uFFFD") << "a surrogate";
  EXPECT_EQ(escape("\xf0\x9f\x98\x80"), "\U0001F600");
}

TEST(Element, EscapesTextAndAttributes) {
  EXPECT_EQ(element("p", {{"title", "a\"b"}}, "1 < 2").str(), "<p title=\"a&quot;b\">1 &lt; 2</p>");
  EXPECT_EQ(element("p", element("b", "x") + "&").str(), "<p><b>x</b>&amp;</p>");
  EXPECT_EQ(element("circle", Attributes{{"r", "3"}}).str(), "<circle r=\"3\"/>");
  EXPECT_EQ(element("td", Html()).str(), "<td></td>");
}

TEST(FillIn, DoesNotSearchWhatItPutsIn) {
  EXPECT_EQ(fill_in("<{{a}}|{{b}}>", {{"a", "{{b}}"}, {"b", "2"}}), "<{{b}}|2>");
}

TEST(FillIn, FailsOnNamesAndPartsThatDoNotMeet) {
  EXPECT_THAT(testing::thrown_by([] { return fill_in("{{a}}", {}); }), HasSubstr("the page asks for a"));
  EXPECT_THAT(testing::thrown_by([] { return fill_in("-", {{"a", ""}}); }), HasSubstr("the page has no place for a"));
  EXPECT_THAT(testing::thrown_by([] { return fill_in("{{a", {{"a", ""}}); }), HasSubstr("a name is not closed: {{a"));
}

TEST(PageChecker, FindsWhatItIsThereToFind) {
  const std::string begin = "<!DOCTYPE html>\n";
  EXPECT_THAT(faults_of(begin + "<p id=\"a\"><a href=\"#a\">x</a><br/></p>\n"), IsEmpty());
  EXPECT_THAT(faults_of("<p></p>"), ElementsAre("no doctype"));
  EXPECT_THAT(faults_of(begin + "<p><b></p></b>"), ElementsAre("</p> closes b", "not closed: p"));
  EXPECT_THAT(faults_of(begin + "<p a=\"1\" a=\"2\">&nbsp;</p>"), ElementsAre("twice in one tag: a", "bare &: &nbsp;"));
  EXPECT_THAT(faults_of(begin + "<p a=1></p>"), ElementsAre("no tag: <p a=1></p>", "</p> closes nothing"));
  EXPECT_THAT(faults_of(begin + "<p id=\"a\"></p><p id=\"a\"></p>"), ElementsAre("twice on the page: id a"));
  EXPECT_THAT(faults_of(begin + "<a href=\"#b\"></a>"), ElementsAre("no id for the link #b"));
  EXPECT_THAT(faults_of(begin + "<script>if (a < b && c) {}</script>"), IsEmpty());
}

}  // namespace
}  // namespace kasimir::report
