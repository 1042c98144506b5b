// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/view.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_study.h"
#include "page.h"

namespace kasimir::report {
namespace {

using ::testing::ElementsAre;
using ::testing::IsEmpty;

TEST(Sites, AreReadWhereTheyCanBe) {
  const auto sites = sites_of({{"sites",
                                {{{"site", "16->32x8x8/2"}, {"count", 3}, {"macs", 30}, {"params", 6}},
                                 {{"site", "Ci=4 Co=4 H=2 W=2"}},
                                 {{"site", "nonsense"}, {"count", 1}},
                                 {{"site", 7}},
                                 "text"}}});
  ASSERT_EQ(sites.size(), 2U);
  EXPECT_EQ(sites[0].site.str(), "Ci=16 Co=32 H=8 W=8 s=2");
  EXPECT_EQ(sites[0].count, 3);
  EXPECT_EQ(sites[0].original, (study::Counts{30, 6}));
  EXPECT_EQ(sites[1].count, 1);
  EXPECT_FALSE(sites[1].original);
  EXPECT_THAT(sites_of({{"sites", "none"}}), IsEmpty());
  EXPECT_THAT(sites_of(study::Json::object()), IsEmpty());
}

TEST(View, ChoosesFinalistsAndTheBestOthers) {
  MadeUpStudy study("chosen");
  fill_small(study);
  const View view = look_at(study.store(), 1);
  EXPECT_THAT(view.finalists, ElementsAre(1, 2));
  EXPECT_THAT(view.others, ElementsAre(3));
  EXPECT_TRUE(view.finished());
  EXPECT_EQ(view.original(), view.rows.data());
  EXPECT_THAT(table_order(view.rows), ElementsAre(0, 1, 2, 3, 4, 5, 6));
}

TEST(View, KnowsTheOriginalOnEveryRung) {
  MadeUpStudy study("rungs");
  fill_small(study);
  const auto means = accuracy_by_rung(study.store().jobs(), 0);
  ASSERT_EQ(means.size(), 2U);
  EXPECT_DOUBLE_EQ(means.at(study::Rung::quick), 0.70);
  EXPECT_DOUBLE_EQ(means.at(study::Rung::full), 0.91);
}

TEST(Words, AreWhatPeopleRead) {
  EXPECT_EQ(percent(0.5, 0), "50\u00a0%") << "a unit stays with its number";
  EXPECT_EQ(with_plain_spaces(percent(0.9134)), "91.3 %");
  EXPECT_EQ(with_plain_spaces(points(0.0234)), "2.3 points");
  EXPECT_EQ(shown("a"), "a");
  EXPECT_EQ(shown({{"b", 1}}), "{\"b\":1}");
  EXPECT_EQ(shown(nullptr), "");
  EXPECT_EQ(in_words({{"a", 1}, {"b", {{"c", "d"}}}}), "a 1, b (c d)");
  EXPECT_EQ(in_words({{"list", {2, 8}}, {"nothing", study::Json::array()}}), "list (2, 8), nothing none");
  EXPECT_EQ(in_words({{{"epochs", 2}}, {{"epochs", 3}}}), "(epochs 2), (epochs 3)");
  EXPECT_EQ(kernel_name("# note\nkernel  k7 \n  a = relu(x)\nreturn a\n"), "k7");
  EXPECT_EQ(kernel_name(""), "original");
  EXPECT_EQ(kernel_name("assignment\n  conv1 = trial 2\n"), "assignment");
  EXPECT_EQ(kernel_name("no kernel"), "?");
  EXPECT_EQ(time_text(1'700'000'000), "2023-11-14 22:13");
  EXPECT_EQ(ratio(1, 4), 0.25);
  EXPECT_EQ(ratio(0, 4), std::nullopt);
  EXPECT_EQ(count_text(12'345'678), "12.3M");
  EXPECT_EQ(count_text(0), "");
  EXPECT_EQ(with_plain_spaces(accuracy_text(study::Measured{0.9134, 0.0021, 3})), "91.3 ± 0.2 %");
  EXPECT_EQ(with_plain_spaces(accuracy_text(study::Measured{0.9134, 0, 1})), "91.3 %");
  EXPECT_EQ(with_plain_spaces(latency_text(study::Measured{1.2345, 0.0456, 30})), "1.23 ± 0.05 ms");
  EXPECT_EQ(with_plain_spaces(latency_text(study::Measured{123.45, 4.56, 30})), "123 ± 5 ms");
  EXPECT_EQ(with_plain_spaces(latency_text(study::Measured{0.012345, 0.0004, 30})), "0.0123 ± 0.0004 ms");
  EXPECT_EQ(ratio_text(0.5), "0.50×");
}

}  // namespace
}  // namespace kasimir::report
