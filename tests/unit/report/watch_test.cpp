// SPDX-License-Identifier: Apache-2.0
#include "kasimir/report/watch.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "made_up_study.h"
#include "unit/study/server.h"

namespace kasimir::report {
namespace {

using ::testing::HasSubstr;
using ::testing::Not;

constexpr double now = 1'700'000'000;

TEST(Watch, ShowsAFinishedStudyWithItsFrontAndLastTrials) {
  MadeUpStudy study("watched");
  fill_small(study);
  const WatchBlock block = watch_block(study.store(), now);
  EXPECT_TRUE(block.finished);
  EXPECT_THAT(block.text, HasSubstr("\nfinished: 3 candidates evaluated or in training, "));
  EXPECT_THAT(block.text, HasSubstr("\nfront of accuracy and MACs\n"));
  EXPECT_THAT(block.text, HasSubstr("\nlast trials\n"));
  EXPECT_THAT(block.text, Not(HasSubstr("worker")));
  EXPECT_THAT(block.text, Not(HasSubstr("left")));
}

TEST(Watch, ShowsWhoWorksAndForHowLongTheirWordIsGood) {
  MadeUpStudy study("workers");
  study.propose("", {100, 10}, {200, 20});
  const double until = study.store().jobs().front().lease_until;
  EXPECT_THAT(watch_block(study.store(), until - 45).text, HasSubstr("  45 s left\n"));
  EXPECT_THAT(watch_block(study.store(), until + 30).text, HasSubstr("  silent, over for 30 s\n"));
  EXPECT_THAT(watch_block(study.store(), until).text, HasSubstr("\nno candidate has a result yet\n"));
  EXPECT_FALSE(watch_block(study.store(), until).finished);
}

TEST(Watch, ReadsAStudyOnAServerWhileAWorkerWrites) {
  const study::fake::Server* server = study::fake::Server::shared();
  if (server == nullptr) GTEST_SKIP() << study::fake::no_server;
  const std::string place = study::fake::Server::shared()->fresh_study();
  study::Store store = study::Store::start(place, MadeUpStudy::default_spec(), "test", "machine", now);
  const study::Lease lease = store.propose("worker-7", now, 60);
  store.transact([&] {
    // The worker's transaction is open: what is seen is the state before it.
    store.accept(lease, {"", "original", nullptr, {100, 10}, {200, 20}, nullptr}, now);
    EXPECT_THAT(watch_block(study::Store::view(place), now + 15).text, HasSubstr("worker-7"));
  });
  EXPECT_TRUE(store.finish(lease.job, accuracy(0.5), now + 20));
  EXPECT_THAT(watch_block(study::Store::view(place), now + 30).text, HasSubstr("\nno worker has a job\n"));
}

}  // namespace
}  // namespace kasimir::report
