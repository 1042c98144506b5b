// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/live.h"

#include "kasimir/primitive/catalog.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_study.h"
#include "page.h"

namespace kasimir::report {
namespace {

using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

TEST(Live, PageIsWellFormedAndShowsWhoIsAtWorkAndTheLog) {
  MadeUpStudy study("live");
  fill_small(study);
  study.store().add_event(1'700'000'000, "improvement", "trial 1 leads <now>", nullptr);
  EXPECT_THAT(text_of(live_html(study.store(), catalog())), HasSubstr("No worker has a job."));
  study.propose("kernel k9\n  a = relu(x)\nreturn a\n", {100, 10}, {200, 20});
  const std::string page = live_html(study.store(), catalog());
  EXPECT_THAT(faults_of(page), IsEmpty());
  EXPECT_THAT(text_of(page), HasSubstr("worker-1"));
  EXPECT_THAT(text_of(page), HasSubstr("trial 1 leads <now>"));
  EXPECT_THAT(page, HasSubstr("data-token=\"" + live_token(study.store()) + "\""));
}

TEST(Live, TokenChangesWithJobsAndEventsAndOnlyThen) {
  MadeUpStudy study("token");
  fill_small(study);
  const std::string first = live_token(study.store());
  EXPECT_EQ(live_token(study.store()), first);
  study.propose("kernel k9\n  a = relu(x)\nreturn a\n", {100, 10}, {200, 20});
  const std::string leased = live_token(study.store());
  EXPECT_NE(leased, first);
  study.finish_quick(accuracy(0.5));
  const std::string done = live_token(study.store());
  EXPECT_NE(done, leased);
  study.store().add_event(1'700'000'000, "phase", "longer", nullptr);
  EXPECT_NE(live_token(study.store()), done);
}

TEST(Live, StateSaysHowFarTheSearchIs) {
  MadeUpStudy study("state");
  fill_small(study);
  const auto finished = study::Json::parse(live_state(study.store()));
  EXPECT_TRUE(finished.at("finished").get<bool>());
  EXPECT_EQ(finished.at("token"), live_token(study.store()));
  EXPECT_THAT(finished.at("text").get<std::string>(), HasSubstr("finished: 3 candidates evaluated or in training, "));
  EXPECT_THAT(finished.at("text").get<std::string>(), Not(HasSubstr("left")));
}

}  // namespace
}  // namespace kasimir::report
