// SPDX-License-Identifier: Apache-2.0
#include "fake.h"
#include "server.h"

#include "kasimir/study/database.h"
#include "kasimir/study/query.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace kasimir::study {
namespace {

Proposal proposal(int number, std::int64_t macs = 500) {
  return {fmt::format("kernel {}", number),
          fmt::format("h{}", number),
          {{"attempt", number}},
          {macs, 50},
          {macs + 200, 70},
          {{"macs", 0.5}}};
}

JobResult scored(double accuracy) {
  JobResult result;
  result.accuracy = accuracy;
  return result;
}

/// On a file and on a server.
class StudyStore : public testing::TestWithParam<const char*> {
 protected:
  /// A trial with its kernel and its leased job on rung quick.
  Lease running(const std::string& worker = "w1", double now = 1000) {
    const Lease lease = store->propose(worker, now, 60);
    EXPECT_TRUE(store->accept(lease, proposal(lease.trial.number), now));
    return {lease.job, store->trial(lease.trial.number)};
  }

  StudyStore() {
    if (!on_server() || fake::Server::shared() != nullptr) store.emplace(fake::start(place(), fake::spec(10)));
  }
  void SetUp() override {
    if (!store) GTEST_SKIP() << fake::no_server;
  }
  [[nodiscard]] bool on_server() const { return GetParam() == std::string("server"); }
  /// Of a new study.
  StudyPlace place() {
    return on_server() ? StudyPlace(fake::Server::shared()->fresh_study()) : folder / fmt::format("{}.db", ++files);
  }

  fake::Folder folder;
  int files = 0;
  std::optional<Store> store;
};
INSTANTIATE_TEST_SUITE_P(Places, StudyStore, testing::Values("file", "server"),
                         [](const auto& of) { return std::string(of.param); });

TEST_P(StudyStore, KeepsWhatItWasAskedFor) {
  const StudyInfo info = Store::view(store->place()).info();
  EXPECT_EQ(info.spec, fake::spec(10));
  EXPECT_EQ(info.program, "kasimir 0.1.0");
  EXPECT_EQ(info.machine, "test machine");
  EXPECT_EQ(info.created, 1000);
  EXPECT_EQ(info.schema, schema_version);
  EXPECT_FALSE(store->resumed());
  EXPECT_TRUE(fake::start(store->place(), fake::spec(10)).resumed());
}

TEST_P(StudyStore, PairsTheAccuraciesOfTwoRungsNewestFirst) {
  running();  // the original is no candidate
  for (int number = 1; number <= 3; ++number) {
    const Lease lease = running();
    ASSERT_TRUE(store->finish(lease.job, scored(0.1 * number), 1000 + number));
    for (int seed = 0; seed < 2; ++seed) store->queue(number, Rung::full, seed);
  }
  EXPECT_EQ(store->next_queued(Rung::longer), std::nullopt);
  EXPECT_EQ(store->next_queued(Rung::full)->trial, 1);
  for (int job = 0; job < 5; ++job) {
    const auto lease = store->lease(Rung::full, "w1", 2000 + job, 60);
    ASSERT_TRUE(lease);
    ASSERT_TRUE(store->finish(lease->job, scored(0.2 * lease->trial.number + 0.1 * lease->job.seed), 2001 + job));
  }
  const auto pairs = store->rung_pairs(Rung::quick, Rung::full, 10);
  ASSERT_EQ(pairs.size(), 3U);
  // Trial 2 ended last, with two seeds; trial 3 has one.
  EXPECT_NEAR(pairs[0].early, 0.2, 1e-12);
  EXPECT_NEAR(pairs[0].late, 0.45, 1e-12);
  EXPECT_NEAR(pairs[1].late, 0.25, 1e-12);
  EXPECT_NEAR(pairs[2].late, 0.6, 1e-12);
  EXPECT_EQ(store->rung_pairs(Rung::quick, Rung::full, 1).size(), 1U);
  EXPECT_EQ(store->rung_pairs(Rung::quick, Rung::longer, 10).size(), 0U);
  const auto epochs = [&](int trial, const std::vector<double>& accuracies) {
    store->queue(trial, Rung::longer, 0);
    const auto lease = store->lease(Rung::longer, "w1", 3000 + trial, 60);
    ASSERT_TRUE(lease);
    for (std::size_t i = 0; i < accuracies.size(); ++i)
      store->add_epoch(lease->job, {static_cast<int>(i) + 1, 0, 0, 0, accuracies[i], 0, 0});
    ASSERT_TRUE(store->finish(lease->job, scored(accuracies.back()), 3001 + trial));
  };
  epochs(1, {0.3, 0.4});
  epochs(2, {0.5, 0.6, 0.7});
  const auto first = store->epoch_pairs(Rung::longer, 1, 10);
  ASSERT_EQ(first.size(), 2U);
  EXPECT_NEAR(first[0].early, 0.5, 1e-12);
  EXPECT_NEAR(first[0].late, 0.7, 1e-12);
  EXPECT_EQ(store->epoch_pairs(Rung::longer, 2, 10).size(), 1U) << "trial 1 ended with it";
  EXPECT_EQ(store->epoch_pairs(Rung::longer, 3, 10).size(), 0U);
  EXPECT_EQ(store->drop_queued_of(3), 1);
  EXPECT_EQ(store->next_queued(Rung::full), std::nullopt);
}

TEST_P(StudyStore, AddsAFinalistThatCountsAsNoCandidate) {
  running();
  running();
  store->set_phase(rung_count);
  EXPECT_EQ(store->add_finalist(proposal(9), 2, 1500), 2);
  EXPECT_EQ(store->add_finalist(proposal(9), 2, 1600), std::nullopt) << "the same hash";
  EXPECT_EQ(store->add_finalist(proposal(1), 2, 1600), std::nullopt);
  EXPECT_EQ(store->info().phase, static_cast<int>(Rung::full));
  const Trial trial = store->trial(2);
  EXPECT_EQ(trial.state, TrialState::running);
  EXPECT_EQ(trial.kernel, "kernel 9");
  EXPECT_EQ(trial.network, (Counts{700, 70}));
  ASSERT_EQ(store->jobs_of(2).size(), 2U);
  EXPECT_EQ(store->jobs_of(2).back().rung, Rung::full);
  EXPECT_EQ(store->numbers().next, 3);
  EXPECT_EQ(store->numbers().candidates(), 1);
}

TEST_P(StudyStore, TakesOverMoreTrialsOnResume) {
  store->set_phase(rung_count);
  const Store again = fake::start(store->place(), fake::spec(25), 2000);
  EXPECT_EQ(again.info().spec, fake::spec(25));
  EXPECT_EQ(again.info().phase, 0);
  EXPECT_EQ(again.events().back().text, fmt::format("study {} resumed with trials 10 -> 25", store->place().str()));
}

TEST_P(StudyStore, DoesNotSearchAnewWhenOnlyTheWorkersChange) {
  store->set_phase(rung_count);
  Json asked = fake::spec(10);
  asked["ladder"]["workers"] = 2;
  const Store again = fake::start(store->place(), asked, 2000);
  EXPECT_EQ(again.info().phase, rung_count);
  EXPECT_EQ(again.info().spec, asked);
}

TEST_P(StudyStore, KeepsTrialsWithEverythingProposed) {
  const Lease lease = running();
  const Trial trial = Store::view(store->place()).trial(0);
  EXPECT_EQ(trial.kernel, "kernel 0");
  EXPECT_EQ(trial.hash, "h0");
  EXPECT_EQ(trial.state, TrialState::running);
  EXPECT_EQ(trial.origin, (Json{{"attempt", 0}}));
  EXPECT_EQ(trial.budget_use, (Json{{"macs", 0.5}}));
  EXPECT_EQ(trial.replaced, (Counts{500, 50}));
  EXPECT_EQ(trial.network, (Counts{700, 70}));
  EXPECT_EQ(trial.created, 1000);
  EXPECT_EQ(lease.job.attempts, 1);
  EXPECT_EQ(lease.job.lease_until, 1060);
}

TEST_P(StudyStore, KeepsTheCostOnAnAccelerator) {
  const Lease lease = store->propose("w", 1000, 60);
  const Counts network{700, 70, AcceleratorCost{123456, 7.25, 8.5e11}};
  ASSERT_TRUE(store->accept(lease, {"kernel", "h", Json::object(), {500, 50}, network, {{"macs", 0.5}}}, 1000));
  EXPECT_EQ(Store::view(store->place()).trial(lease.trial.number).network, network);
  JobResult result;
  result.accuracy = 0.5;
  ASSERT_TRUE(store->finish(lease.job, result, 1001));
  const auto results = Store::view(store->place()).results(Rung::quick);
  ASSERT_EQ(results.size(), 1U);
  EXPECT_EQ(results[0].network, network);
}

TEST_P(StudyStore, RejectsTheSameKernelTwice) {
  running();
  running();
  const Lease twin = store->propose("w1", 1000, 60);
  EXPECT_FALSE(store->accept(twin, proposal(1), 1000));
  const Trial trial = store->trial(2);
  EXPECT_EQ(trial.state, TrialState::rejected);
  EXPECT_EQ(trial.rule, "the same kernel as an earlier trial");
  EXPECT_EQ(trial.reason, "the same kernel as trial 1");
  EXPECT_EQ(store->jobs_of(2).front().state, JobState::done);
  EXPECT_EQ(store->reasons(TrialState::rejected),
            (std::map<std::string, int>{{"the same kernel as an earlier trial", 1}}));
}

TEST_P(StudyStore, KnowsTheNearestMissOfEachRule) {
  const std::string rule = "budget: macs at most 0.5";
  for (const char* reason : {"budget: macs at most 0.5 (0.9 at a)", "budget: macs at most 0.5 (0.51 at b)",
                             "budget: macs at most 0.5 (0.7 at c)"})
    EXPECT_TRUE(store->reject(store->propose("w1", 1000, 60), rule, reason, 1000));
  EXPECT_TRUE(store->reject(store->propose("w1", 1000, 60), "every step is used", "every step is used", 1000));
  EXPECT_EQ(store->nearest_misses(TrialState::rejected),
            (std::map<std::string, std::string>{{rule, "0.51 at b"}, {"every step is used", ""}}));
  EXPECT_TRUE(store->nearest_misses(TrialState::failed).empty());
}

TEST_P(StudyStore, KeepsAResultWithAllItsNumbers) {
  const Lease lease = running();
  JobResult result = scored(0.75);
  result.loss = 0.5;
  result.test_accuracy = 0.7;
  result.latency_ms = 3.25;
  result.extra = {{"images_per_second", 550}};
  EXPECT_TRUE(store->finish(lease.job, result, 1010));
  const Job job = store->jobs().front();
  EXPECT_EQ(job.state, JobState::done);
  EXPECT_EQ(job.accuracy, 0.75);
  EXPECT_EQ(job.loss, 0.5);
  EXPECT_EQ(job.test_accuracy, 0.7);
  EXPECT_EQ(job.latency_ms, 3.25);
  EXPECT_EQ(job.result, (Json{{"images_per_second", 550}}));
  EXPECT_EQ(job.started, 1000);
  EXPECT_EQ(job.finished, 1010);
}

TEST_P(StudyStore, AcceptsAResultOnce) {
  const Lease lease = running();
  EXPECT_TRUE(store->finish(lease.job, scored(0.75), 1010));
  EXPECT_FALSE(store->finish(lease.job, scored(0.25), 1011));
  EXPECT_EQ(store->jobs().front().accuracy, 0.75);
}

TEST_P(StudyStore, RefusesTheLateResultOfALostLease) {
  const Lease old = running("w1", 1000);
  EXPECT_EQ(store->requeue_expired(1059, 3), 0);
  EXPECT_EQ(store->requeue_expired(1061, 3), 1);
  const auto fresh = store->lease(Rung::quick, "w2", 1062, 60);
  ASSERT_TRUE(fresh);
  EXPECT_GT(fresh->job.fence, old.job.fence);
  EXPECT_EQ(fresh->job.attempts, 2);
  EXPECT_EQ(fresh->job.lost, 1);
  EXPECT_FALSE(store->heartbeat(old.job, 1063, 60));
  EXPECT_FALSE(store->add_epoch(old.job, {}));
  EXPECT_FALSE(store->release(old.job, 1063));
  EXPECT_FALSE(store->finish(old.job, scored(0.1), 1063));
  EXPECT_TRUE(store->finish(fresh->job, scored(0.9), 1064));
  EXPECT_EQ(store->jobs().front().accuracy, 0.9);
  EXPECT_EQ(store->jobs().front().worker, "w2");
}

TEST_P(StudyStore, TakesALateResultAsLongAsNobodyElseHasTheJob) {
  const Lease old = running("w1", 1000);
  EXPECT_EQ(store->requeue_expired(1061, 3), 1);
  EXPECT_TRUE(store->finish(old.job, scored(0.6), 1062));
  EXPECT_EQ(store->jobs().front().state, JobState::done);
  EXPECT_FALSE(store->lease(Rung::quick, "w2", 1063, 60));
}

TEST_P(StudyStore, RefusesTheLateKernelOfALostLease) {
  const Lease old = store->propose("w1", 1000, 60);
  store->requeue_expired(1061, 3);
  const auto fresh = store->lease(Rung::quick, "w2", 1062, 60);
  ASSERT_TRUE(fresh);
  EXPECT_EQ(fresh->trial.state, TrialState::proposed);
  EXPECT_FALSE(store->accept(old, proposal(0), 1063));
  EXPECT_FALSE(store->reject(old, "rule", "reason", 1063));
  EXPECT_EQ(store->trial(0).state, TrialState::proposed);
  EXPECT_TRUE(store->accept(*fresh, proposal(0), 1064));
}

TEST_P(StudyStore, KeepsALeaseThatIsExtended) {
  const Lease lease = running("w1", 1000);
  EXPECT_TRUE(store->heartbeat(lease.job, 1050, 60));
  EXPECT_EQ(store->requeue_expired(1100, 3), 0);
  EXPECT_EQ(store->requeue_expired(1111, 3), 1);
}

TEST_P(StudyStore, GivesUpAJobAfterThreeDeadWorkers) {
  running();  // trial 0
  double now = 1000;
  Lease lease = running("w1", now);
  for (int death = 1; death <= 3; ++death) {
    now += 100;
    store->heartbeat(store->jobs_of(0).front(), now, 60);
    EXPECT_EQ(store->requeue_expired(now, 3), 1);
    if (death < 3) {
      EXPECT_TRUE(store->lease(Rung::quick, "w1", now, 60));
    }
  }
  const Job job = store->jobs_of(1).front();
  EXPECT_EQ(job.state, JobState::failed);
  EXPECT_EQ(job.reason, "the worker died 3 times");
  EXPECT_EQ(job.attempts, 3);
  EXPECT_EQ(store->trial(1).state, TrialState::failed);
  EXPECT_EQ(store->trial(1).reason, "the worker died 3 times");
  EXPECT_EQ(store->events().back().text, "trial 1: rung quick, seed 0: the worker died 3 times");
  EXPECT_FALSE(store->finish(lease.job, scored(0.5), now));
}

TEST_P(StudyStore, DoesNotCountAJobThatWasGivenBack) {
  const Lease lease = running();
  EXPECT_TRUE(store->release(lease.job, 1010));
  const auto again = store->lease(Rung::quick, "w1", 1011, 60);
  ASSERT_TRUE(again);
  EXPECT_EQ(again->job.lost, 0);
  EXPECT_EQ(again->job.attempts, 2);
}

TEST_P(StudyStore, KeepsTheCurveOfTheLastAttemptOnly) {
  const Lease lease = running();
  EXPECT_TRUE(store->add_epoch(lease.job, {1, 2.5, 0.2, 2.4, 0.3, 0.1, 4.5}));
  EXPECT_TRUE(store->add_epoch(lease.job, {2, std::numeric_limits<double>::quiet_NaN(), 0.3, 2.0, 0.4, 0.05, 4.5}));
  ASSERT_EQ(store->curves(0).size(), 1u);
  EXPECT_EQ(store->curves(0)[0].rows.size(), 2u);
  EXPECT_EQ(store->curves(0)[0].rows[0].train_loss, 2.5);
  EXPECT_EQ(store->curves(0)[0].rows[0].seconds, 4.5);
  EXPECT_TRUE(std::isnan(store->curves(0)[0].rows[1].train_loss));
  store->release(lease.job, 1010);
  const auto again = store->lease(Rung::quick, "w1", 1011, 60);
  store->add_epoch(again->job, {1, 2.25, 0.2, 2.4, 0.3, 0.1, 4.5});
  ASSERT_EQ(store->curves(0)[0].rows.size(), 1u);
  EXPECT_EQ(store->curves(0)[0].rows[0].train_loss, 2.25);
}

TEST_P(StudyStore, RecordsAFailureAndARejectionWithTheirReasons) {
  running();
  const Lease bad = running();
  EXPECT_TRUE(store->finish(bad.job, JobResult::failed("diverged", "the loss is not finite at epoch 2"), 1010));
  EXPECT_EQ(store->trial(1).state, TrialState::failed);
  EXPECT_EQ(store->trial(1).rule, "diverged");
  EXPECT_EQ(store->trial(1).reason, "the loss is not finite at epoch 2");
  EXPECT_EQ(store->jobs_of(1).front().state, JobState::failed);
  const Lease dull = running();
  EXPECT_TRUE(store->finish(dull.job, JobResult::rejected("signal variance", "variance 1e-9"), 1020));
  EXPECT_EQ(store->trial(2).state, TrialState::rejected);
  EXPECT_EQ(store->jobs_of(2).front().state, JobState::done);
  EXPECT_EQ(store->trial_counts(), (std::map<TrialState, int>{{TrialState::rejected, 1}, {TrialState::failed, 1}}));
}

TEST_P(StudyStore, KeepsATrialOfWhichOneSeedFailed) {
  running();
  const Lease quick = running();
  store->finish(quick.job, scored(0.5), 1010);
  store->queue(1, Rung::full, 0);
  store->queue(1, Rung::full, 1);
  store->finish(store->lease(Rung::full, "w1", 1020, 60)->job, JobResult::failed("diverged", "at epoch 1"), 1030);
  EXPECT_EQ(store->trial(1).state, TrialState::running);
  store->finish(store->lease(Rung::full, "w1", 1040, 60)->job, JobResult::failed("diverged", "at epoch 2"), 1050);
  EXPECT_EQ(store->trial(1).state, TrialState::failed);
}

TEST_P(StudyStore, QueuesAJobOnce) {
  running();
  EXPECT_TRUE(store->queue(0, Rung::longer, 0));
  EXPECT_FALSE(store->queue(0, Rung::longer, 0));
  EXPECT_FALSE(store->queue(0, Rung::quick, 0));
  EXPECT_EQ(store->jobs().size(), 2u);
}

TEST_P(StudyStore, RecordsOneEventForAnImprovement) {
  const Lease original = running();
  store->finish(original.job, scored(0.9), 1010);
  const Lease first = running();
  store->finish(first.job, scored(0.8), 1020);
  const Lease worse = running();
  store->finish(worse.job, scored(0.7), 1030);
  const Lease smaller = store->propose("w1", 1030, 60);
  store->accept(smaller, proposal(3, 100), 1030);
  store->finish(smaller.job, scored(0.6), 1040);
  std::vector<std::string> texts;
  for (const Event& event : store->events()) {
    if (event.kind == "improvement") texts.push_back(event.text);
  }
  EXPECT_EQ(texts,
            (std::vector<std::string>{
                "trial 1: accuracy 80.0 % (original 90.0 %) on rung quick, 700 MACs, 100.0 % of the original's",
                "trial 3: accuracy 60.0 % (original 90.0 %) on rung quick, 300 MACs, 42.9 % of the original's"}));
  EXPECT_EQ(store->events().back().data.at("trial"), 3);
  EXPECT_EQ(store->events(store->last_event()).size(), 0u);
}

TEST_P(StudyStore, CountsActiveSecondsButNoPauses) {
  store->tick(1010);
  store->tick(1025);
  EXPECT_EQ(store->info().active_seconds, 25);
  store->tick(9000);
  EXPECT_EQ(store->info().active_seconds, 25);
  store->tick(9010);
  EXPECT_EQ(store->info().active_seconds, 35);
}

TEST_P(StudyStore, CountsTheSameSecondsOfTwoWorkersOnce) {
  store->tick(1010);
  store->tick(1008);  // another machine, two seconds behind
  store->tick(1012);
  EXPECT_EQ(store->info().active_seconds, 12);
}

TEST_P(StudyStore, SurvivesAClockThatIsSetBack) {
  store->tick(1010);
  store->tick(500);
  store->tick(520);
  EXPECT_EQ(store->info().active_seconds, 30);
}

TEST_P(StudyStore, ReplacesTheLatencySamplesOfAnEarlierMeasurement) {
  running();
  const Lease lease = running();
  store->finish(lease.job, scored(0.5), 1010);
  store->queue(1, Rung::latency, 0);
  JobResult timed;
  timed.latency = {{1, 1, 0, 2.5, 4.0}, {1, 1, 1, 2.75, 4.25}};
  store->finish(store->lease(Rung::latency, "w1", 1020, 60)->job, timed, 1030);
  ASSERT_EQ(store->latency_samples(1).size(), 2u);
  EXPECT_EQ(store->latency_samples(1)[1].kernel_ms, 2.75);
  EXPECT_EQ(store->latency_samples(1)[1].original_ms, 4.25);
  EXPECT_EQ(store->latency_samples().size(), 2u);
  EXPECT_EQ(store->latency_samples(0).size(), 0u);
}

TEST_P(StudyStore, RollsBackAChangeThatThrows) {
  EXPECT_THROW(store->transact([&] {
    store->set_phase(3);
    throw input_error("interrupted");
  }),
               Error);
  EXPECT_EQ(store->info().phase, 0);
  store->transact([&] { store->set_phase(2); });
  EXPECT_EQ(store->info().phase, 2);
}

TEST_P(StudyStore, ShowsAReaderWhatWasCommitted) {
  const Store reader = Store::view(store->place());
  store->transact([&] {
    store->set_phase(3);
    EXPECT_EQ(reader.info().phase, 0);
  });
  EXPECT_EQ(reader.info().phase, 3);
}

TEST_P(StudyStore, KeepsUnusualTexts) {
  store->add_event(1, "note", "it's \"quoted\"; :a ", {{"text", "Ä\n"}});
  const Event event = Store::view(store->place()).events().back();
  EXPECT_EQ(event.text, "it's \"quoted\"; :a ");
  EXPECT_EQ(event.data.at("text"), "Ä\n");
}

TEST_P(StudyStore, IsCreatedOnceWhenSeveralStartTogether) {
  const StudyPlace fresh = place();
  std::atomic<int> created{0};
  std::vector<std::thread> starters;
  for (int i = 0; i < 6; ++i) {
    starters.emplace_back([&] { created += fake::start(fresh, fake::spec(3)).resumed() ? 0 : 1; });
  }
  for (std::thread& starter : starters) starter.join();
  EXPECT_EQ(created, 1);
  EXPECT_EQ(Store::view(fresh).events().size(), 6u);
}

TEST(StudyFile, MayHaveAnUnusualName) {
  const fake::Folder folder;
  const auto path = folder / "odd name=1 %3f#?.db";
  fake::start(path, fake::spec(3));
  EXPECT_TRUE(std::filesystem::exists(path));
  EXPECT_EQ(Store::view(path).info().spec, fake::spec(3));
}

TEST(StudyCreation, GoesOnAfterItWasInterrupted) {
  const fake::Folder folder;
  {
    Database empty(folder / "a.db", Database::Mode::create);
  }
  const Store store = fake::start(folder / "a.db", fake::spec(3));
  EXPECT_FALSE(store.resumed());
  EXPECT_EQ(store.events().size(), 1u);
}

}  // namespace
}  // namespace kasimir::study
