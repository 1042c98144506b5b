// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/cosearch_page.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "page.h"

namespace kasimir::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

CosearchPage made_up() {
  CosearchPage page{"<residual> & zc706",
                    "kasimir cosearch out",
                    "kasimir 0.1.0",
                    "cycles per frame",
                    2e8,
                    5e4,
                    1e5,
                    5.7,
                    0.0123,
                    {},
                    {},
                    {},
                    {}};
  CosearchFinalist one{"finalist-1", 4e4, 0.5, 0.81, 0.8, {}, {"a0q4", "a1q8", "dwa0q6"}, {1000, 0, 0}, "a0q4: mode 1"};
  one.blocks.push_back({"stage1.block1", "conv3", 4, {39000, 0, 0}});
  one.blocks.push_back({"stage2.block1", "k_<script>", 8, {0, 12345, 0}});
  page.finalists.push_back(one);
  page.points.push_back({6e4, 0.55, "conv3:4 conv3:8"});
  page.asked.emplace_back("goal", "share=0.5");
  return page;
}

TEST(CosearchPage, IsWellFormedAndAsksTheNetworkForNothing) {
  const std::string page = cosearch_html(made_up());
  EXPECT_THAT(faults_of(page), IsEmpty());
  EXPECT_THAT(page, Not(HasSubstr(" src=")));
  EXPECT_THAT(page, Not(HasSubstr("<link")));
  EXPECT_THAT(page, Not(HasSubstr("https://")));
}

TEST(CosearchPage, ShowsWhatWasFoundAndWhatItCosts) {
  const std::string text = text_of(cosearch_html(made_up()));
  for (const char* part : {"<residual> & zc706", "kasimir cosearch out", "share=0.5", "5,000 frames/s", "10^5.7",
                           "stage2.block1", "k_<script>", "40,000 cycles per frame", "a0q4: mode 1", "conv3:4 conv3:8"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, HasSubstr("12,345"));
  EXPECT_THAT(text, Not(HasSubstr("dwa0q6"))) << "a part without load";
}

TEST(CosearchPage, ShowsTheHeadroomWhereItWasMeasured) {
  CosearchPage page = made_up();
  EXPECT_THAT(text_of(cosearch_html(page)), HasSubstr("It was not measured."));
  page.headroom = {{"joint (exact)", 0.4, 0}, {"operators only", std::nullopt, 0}, {"bits only", 0.5, 0.25}};
  EXPECT_THAT(faults_of(cosearch_html(page)), IsEmpty());
  const std::string text = text_of(cosearch_html(page));
  for (const char* part : {"joint (exact)", "40.0 %", "misses the goal", "50.0 %", "25.0 %"})
    EXPECT_THAT(text, HasSubstr(part));
  EXPECT_THAT(text, Not(HasSubstr("It was not measured.")));
}

TEST(CosearchPage, LeavesSpeedOutWhereCostsAreNoCycles) {
  CosearchPage page = made_up();
  page.clock_hz.reset();
  EXPECT_THAT(text_of(cosearch_html(page)), Not(HasSubstr("frames/s")));
}

}  // namespace
}  // namespace kasimir::report
