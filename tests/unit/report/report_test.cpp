// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/report.h"

#include "kasimir/base/error.h"
#include "kasimir/base/files.h"
#include "kasimir/primitive/catalog.h"
#include "kasimir/report/html.h"
#include "kasimir/report/view.h"
#include "kasimir/study/scores.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <regex>

#include "made_up_study.h"
#include "page.h"
#include "support/thrown.h"

namespace kasimir::report {
namespace {

using ::testing::ContainsRegex;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

std::string page_of(MadeUpStudy& study, const study::Goal& goal = {}) {
  return report_html(study.store(), catalog(), {goal, "kasimir 0.1.0", 10, "dot"});
}

/// The part of the page in the section with that id.
std::string section(const std::string& page, const std::string& id) {
  const std::size_t begin = page.find(fmt::format("<section id=\"{}\">", id));
  EXPECT_NE(begin, std::string::npos) << id;
  return page.substr(begin, page.find("</section>", begin) - begin);
}

TEST(Report, IsWellFormed) {
  MadeUpStudy small("small");
  fill_small(small);
  EXPECT_THAT(faults_of(page_of(small)), IsEmpty());
  MadeUpStudy large("large");
  fill_large(large);
  EXPECT_THAT(faults_of(page_of(large)), IsEmpty());
}

TEST(Report, HasAColumnForEachScoreOfTheStudy) {
  MadeUpStudy study("scored");
  study.propose("", {10, 10}, {100, 100});
  study::JobResult original = accuracy(0.7);
  study::add_scores(original.extra, {{"zen", 12.345678, "", 0.5}, {"naswot", {}, "score: x (y)", 0.25}});
  study.finish_quick(original);
  const std::string page = page_of(study);
  EXPECT_THAT(faults_of(page), IsEmpty());
  const std::string trials = section(page, "trials");
  EXPECT_THAT(trials, HasSubstr(">score zen</th>"));
  EXPECT_THAT(trials, HasSubstr("data-value=\"12.345678\">12.35</td><td class=\"number\">none</td>"));
  MadeUpStudy without("unscored");
  fill_small(without);
  EXPECT_THAT(section(page_of(without), "trials"), Not(HasSubstr(">score ")));
}

TEST(Report, OfALargeStudyShowsTheBestAndSaysWhatItLeavesOut) {
  MadeUpStudy study("huge");
  const int candidates = static_cast<int>(most_rows) + 200;
  for (int number = 0; number <= candidates; ++number) {
    study.propose(number == 0 ? "" : fmt::format("kernel k{}\n  a = relu(x)\nreturn a\n", number), {100, 10},
                  {200, 20});
    study.finish_quick(accuracy(0.3 + 0.0001 * number), {0.2, 0.3});
  }
  const std::string page = page_of(study);
  EXPECT_THAT(faults_of(page), IsEmpty());
  const std::string trials = section(page, "trials");
  EXPECT_EQ(count_of(trials, "<tr id="), most_rows);
  EXPECT_THAT(trials, HasSubstr(fmt::format("id=\"trial-{}\"", candidates))) << "the best";
  EXPECT_THAT(trials, Not(HasSubstr("id=\"trial-1\""))) << "the worst";
  EXPECT_THAT(text_of(trials),
              ContainsRegex("The best 2,000 of 2,201 trials; kasimir study show .*small.db --csv lists "
                            "all\\."));
  const std::string curves = section(page, "curves");
  EXPECT_EQ(count_of(curves, "<polyline"), most_curves + 1) << "and the legend's none";
  EXPECT_THAT(text_of(curves), HasSubstr("Of the other candidates the best 300 are drawn."));
}

TEST(Report, AsksTheNetworkForNothing) {
  MadeUpStudy study("alone");
  fill_large(study);
  std::string page = page_of(study);
  page = std::regex_replace(page, std::regex(R"re( xmlns(:xlink)?="[^"]*")re"), "");
  EXPECT_THAT(page, Not(HasSubstr("http://")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr("@import")));
  EXPECT_THAT(page, Not(HasSubstr("url(")));
}

TEST(Report, IsReadableOnAPhoneAndFollowsTheColourScheme) {
  MadeUpStudy study("phone");
  const std::string page = page_of(study);
  EXPECT_THAT(page, HasSubstr("<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\"/>"));
  EXPECT_THAT(page, HasSubstr("@media (prefers-color-scheme: dark)"));
}

TEST(Report, EscapesWhatTheStudyHolds) {
  MadeUpStudy study("escaped");
  fill_small(study);
  const std::string page = page_of(study);
  EXPECT_EQ(count_of(page, "<script"), 1U) << "the page's own";
  EXPECT_THAT(page,
              HasSubstr("the loss was &lt;script&gt;alert(&#39;x&#39;)&lt;/script&gt; &quot;nan&quot;, after epoch 1"));
  EXPECT_THAT(section(page, "command"), HasSubstr("--data &#39;my &lt;data&gt;&#39; --study small.db"));
}

TEST(Report, ListsEveryTrial) {
  MadeUpStudy study("all");
  fill_large(study);
  const std::string trials = section(page_of(study), "trials");
  for (int number = 0; number <= 25; ++number)
    EXPECT_EQ(count_of(trials, fmt::format("<tr id=\"trial-{}\">", number)), 1U) << number;
}

TEST(Report, SaysInWordsHowTheBestKernelCompares) {
  MadeUpStudy study("words");
  fill_small(study);
  const std::string text = text_of(page_of(study));
  EXPECT_THAT(text, HasSubstr("Faster kernels for resnet8 on cifar10"));
  EXPECT_THAT(
      text, HasSubstr("bottleneck (trial 1) reaches 90.0 ± 0.7 % (mean and spread over 2 seeds) on images kept for "
                      "validation, 1.0 points below the original, with 50 % of its MACs and 50 % of its parameters. "
                      "The whole network runs 2.00 times as fast, measured side by side. On the test split, read once "
                      "at the end: 89.0 ± 0.0 % against 91.0 ± 0.0 %."));
  EXPECT_THAT(text, HasSubstr("The search is finished. 4 candidates tried, 2 finalists"));
}

TEST(Report, NamesTheNearestMissesWhereNothingMetTheWish) {
  MadeUpStudy study("missed");
  fill_small(study);
  const std::string text = text_of(page_of(study, {study::Measure::params, 0.005, 0.3}));
  EXPECT_THAT(
      text,
      HasSubstr("No kernel met the wish: at most 0.5 points below the original's accuracy with at most 30 % of its "
                "parameters. The nearest:bottleneck (trial 1): accuracy 0.5 points short, 50.0 % of the "
                "original's parameters, 30 % wishedpointwise (trial 2): accuracy 9.5 points short, 37.5 % of "
                "the original's parameters, 30 % wished"));
}

TEST(Report, HasTheStoresNumbers) {
  MadeUpStudy study("numbers");
  fill_small(study);
  const std::string page = with_plain_spaces(page_of(study));
  EXPECT_THAT(
      section(page, "trials"),
      HasSubstr(
          "<tr id=\"trial-1\"><td class=\"number\" data-value=\"1\">1</td><td><a href=\"#kernel-1\">bottleneck</a></td>"
          "<td>complete</td><td>full</td><td class=\"number\" data-value=\"0.9\">90.0 ± 0.7 %</td>"
          "<td class=\"number\" data-value=\"0.5\">1.25 ± 0.25 ms (0.50×)</td>"
          "<td class=\"number\" data-value=\"0.5\">5M (0.50×)</td>"
          "<td class=\"number\" data-value=\"0.5\">40k (0.50×)</td>"));
  EXPECT_THAT(text_of(section(page, "finalists")),
              HasSubstr("2pointwise81.0 ± 1.4 %-10.080.0 ± 0.0 %3.00 ± 0.00 ms (1.20×)4M (0.40×)30k (0.38×)2"));
}

TEST(Report, ShowsAKernelsGraphTextMeaningAndCosts) {
  MadeUpStudy study("kernel");
  fill_small(study);
  const std::string kernels = section(page_of(study), "kernels");
  EXPECT_THAT(kernels, HasSubstr("<article id=\"kernel-1\">"));
  EXPECT_THAT(kernels, HasSubstr(escape(bottleneck_text)));
  EXPECT_THAT(kernels, HasSubstr("<svg"));
  const std::string text = text_of(kernels);
  EXPECT_THAT(text, HasSubstr("a = linear(x, to=x0)[c=x0, h=H*s, w=W*s]arithmetic: learned map of channel"));
  // linear 16*8 + conv 8*16*9/4 weights, each at 32 x 32 positions; two such sites.
  EXPECT_THAT(text, HasSubstr("Ci=16 Co=16 H=32 W=32 s=12x0=8851,968 of 4,718,5920.18×832 of 4,6080.18×"));
}

TEST(Report, ShowsWhichKernelStandsAtEachSiteOfAnAssignment) {
  MadeUpStudy study("assigned");
  fill_small(study);
  const study::Json origin = {{"strategy", "assign"}, {"predicted latency", 0.6}};
  const auto number = study.store().add_finalist({"assignment\n  block1.conv1 = trial 1\n  block1.conv2 = original\n",
                                                  "sites:1,0", origin, {4, 3}, {6'000'000, 50'000}, nullptr},
                                                 0, 1'700'000'900);
  ASSERT_TRUE(number);
  study.finish(*number, study::Rung::full, 0, accuracy(0.905, 0.9));
  study.store().set_state(*number, study::TrialState::complete, "", "");
  study.store().set_phase(study::rung_count);
  const std::string page = page_of(study);
  const std::string kernels = section(page, "kernels");
  EXPECT_THAT(kernels, HasSubstr(fmt::format("<article id=\"kernel-{}\">", *number)));
  EXPECT_THAT(kernels, HasSubstr("<td>block1.conv1</td><td><a href=\"#kernel-1\">bottleneck (trial 1)</a></td>"));
  EXPECT_THAT(kernels, HasSubstr("<td>block1.conv2</td><td>original</td>"));
  EXPECT_THAT(text_of(kernels), HasSubstr("Proposed by: predicted latency 0.6, strategy assign"));
  EXPECT_THAT(text_of(page), HasSubstr("assignment"));
}

TEST(Report, ShowsTheReasonInPlaceOfAKernelThatItCannotRead) {
  MadeUpStudy study("unread");
  fill_small(study);
  const std::string others = text_of(section(page_of(study), "others"));
  EXPECT_THAT(others, HasSubstr("kernel unread"));
  EXPECT_THAT(others, HasSubstr("This version cannot read the kernel: "));
  EXPECT_THAT(others, HasSubstr("no_such_primitive"));
}

TEST(Report, SaysWhatToInstallWhereGraphsCannotBeDrawn) {
  MadeUpStudy study("undrawn");
  fill_small(study);
  const std::string page = report_html(study.store(), catalog(), {{}, "kasimir 0.1.0", 10, "no-such-dot"});
  EXPECT_THAT(faults_of(page), IsEmpty());
  EXPECT_THAT(
      text_of(section(page, "kernels")),
      HasSubstr("The graph is not drawn: cannot run `no-such-dot`, which draws graphs: No such file or directory\n  "
                "install the Debian package graphviz"));
  EXPECT_THAT(text_of(section(page, "kernels")), HasSubstr("a = linear(x, to=x0)"));
}

TEST(Report, ShowsWhatWasAskedBesideWhatWasUsed) {
  MadeUpStudy study("asked");
  fill_small(study);
  const std::string asked = text_of(section(page_of(study), "asked"));
  EXPECT_THAT(
      asked,
      HasSubstr("budgetmacs=0.05..0.5,params=0.02..0.5candidates have 0.10 to 0.34 of the MACs and 0.11 to 0.33 of the "
                "parameters that they replace"));
  EXPECT_THAT(asked, HasSubstr("candidates30 candidates2 complete, 2 rejected, 1 failed, 1 stopped"));
  EXPECT_THAT(asked, HasSubstr("workers22 worker processes"));
  EXPECT_THAT(asked, HasSubstr("seeds a finalist32 finished"));
  EXPECT_THAT(asked, HasSubstr("latencybatch 32, 1 thread, 3 pairs of runs a kernel"));
  EXPECT_THAT(asked, HasSubstr("machinea made-up machine, 2 cores"));
  EXPECT_THAT(asked, HasSubstr("recipebatch 128, learning_rate 0.1"));
}

TEST(Report, CountsRejectionsByRule) {
  MadeUpStudy study("rejected");
  fill_small(study);
  EXPECT_THAT(text_of(section(page_of(study), "rejections")), HasSubstr("2every output sees a neighbourhood"));
}

TEST(Report, DrawsEveryCandidateOnceOnEachChartItHasAValueFor) {
  MadeUpStudy study("charts");
  fill_small(study);
  const std::string charts = section(page_of(study), "trade-offs");
  EXPECT_EQ(count_of(charts, "<figure>"), 3U);
  EXPECT_EQ(count_of(charts, "<title>trial 1, bottleneck: "), 3U);
  EXPECT_EQ(count_of(charts, "<title>trial 3, unread: "), 2U) << "its latency was not measured";
  EXPECT_EQ(count_of(charts, "class=\"line front\" points="), 4U) << "three charts and the legend";
}

TEST(Report, OfAnEmptyStudySaysSo) {
  MadeUpStudy study("empty", {{"ladder", {{"trials", 3}}}});
  const std::string page = page_of(study);
  EXPECT_THAT(faults_of(page), IsEmpty());
  const std::string text = text_of(page);
  EXPECT_THAT(text, HasSubstr("Faster kernels"));
  EXPECT_THAT(text, HasSubstr("The original has no result yet, so nothing can be compared with it."));
  EXPECT_THAT(text, HasSubstr("No trial has begun yet."));
  EXPECT_THAT(text, HasSubstr("The study does not say which command made it."));
}

TEST(Report, OfARunningStudySaysWhereItStands) {
  MadeUpStudy study("running", {{"ladder", {{"trials", 3}}}, {"network", {{"name", "mine"}}}});
  study.propose("", {100, 10}, {1000, 100});
  EXPECT_THAT(text_of(page_of(study)), HasSubstr("The original has no result yet"));
  study.finish_quick(accuracy(0.5), {0.4, 0.5});
  EXPECT_THAT(text_of(page_of(study)), HasSubstr("No candidate has a result yet."));
  study.propose(bottleneck_text, {40, 4}, {400, 40});
  study.finish_quick(accuracy(0.49), {0.4, 0.49});
  study.propose("kernel plain\n  a = conv(x, to=Co, stride=yes)\nreturn a\n", {50, 5}, {500, 50});
  const std::string page = page_of(study);
  EXPECT_THAT(faults_of(page), IsEmpty());
  const std::string text = text_of(page);
  EXPECT_THAT(text, HasSubstr("The search is not finished: it is on rung quick. 2 candidates tried, 0 finalists"));
  EXPECT_THAT(text, HasSubstr("These are results of short training: the finalists are still to come."));
  EXPECT_THAT(text, HasSubstr("Its latency has not been measured."));
}

TEST(Report, ShowsCostsAsFormulasWhereTheSpecNamesNoSites) {
  MadeUpStudy study("siteless", {{"ladder", {{"trials", 3}}}});
  study.propose("", {100, 10}, {1000, 100});
  study.finish_quick(accuracy(0.5));
  study.propose("kernel plain\n  a = conv(x, to=Co, stride=yes)\nreturn a\n", {50, 5}, {500, 50});
  study.finish_quick(accuracy(0.5));
  const std::string others = text_of(section(page_of(study), "others"));
  EXPECT_THAT(others, HasSubstr("The study's specification names no sites."));
  EXPECT_THAT(others, HasSubstr("MACs at a site: 9*Ci*Co*H*W"));
}

TEST(Report, IsAPureFunctionOfTheStudy) {
  MadeUpStudy study("pure");
  fill_small(study);
  EXPECT_EQ(page_of(study), page_of(study));
}

TEST(Report, IsWrittenToAFile) {
  MadeUpStudy study("file");
  fill_small(study);
  const auto path = study.store().place().file().parent_path() / "small.html";
  write_report(study.store(), catalog(), path, {{}, "kasimir 0.1.0", 10, "dot"});
  EXPECT_EQ(read_file(path), page_of(study));
  EXPECT_THAT(testing::thrown_by([&] {
                write_report(study.store(), catalog(), path.parent_path() / "no-folder" / "x.html");
                return 0;
              }),
              ContainsRegex("^4: cannot create .*no-folder/x.html: No such file or directory"));
}

}  // namespace
}  // namespace kasimir::report
