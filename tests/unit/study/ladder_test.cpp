// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/ladder.h"

#include "fake.h"

#include <gtest/gtest.h>

namespace kasimir::study {
namespace {

/// Plays one worker, or several by turns, on a clock of its own: each job takes the seconds of its rung.
class Ladder : public testing::Test {
 protected:
  void begin(const Json& asked) { store.emplace(fake::start(folder / "a.db", asked, now)); }

  Next ask(const std::string& worker = "w1") { return next(*store, {worker, now, 600}); }

  Lease take(const std::string& worker = "w1") {
    Next what = ask(worker);
    if (!std::holds_alternative<Lease>(what)) {
      ADD_FAILURE() << "no job: "
                    << (std::holds_alternative<Wait>(what) ? std::get<Wait>(what).reason : std::string("finished"));
      return {};
    }
    Lease lease = std::get<Lease>(std::move(what));
    if (lease.trial.state == TrialState::proposed) {
      const int n = lease.trial.number;
      const auto macs = n == 0 ? 2000 : 1000;
      EXPECT_TRUE(store->accept(
          lease, {n == 0 ? "" : "k", n == 0 ? "" : fmt::format("h{}", n), nullptr, {macs, 10}, {macs, 10}, nullptr},
          now));
    }
    return lease;
  }

  void finish(const Lease& lease, double accuracy) {
    // In steps, as heartbeats do: a longer silence would count as a pause.
    for (double left = seconds.at(static_cast<std::size_t>(lease.job.rung)); left > 0; left -= 10) {
      now += std::min(left, 10.0);
      store->tick(now);
    }
    JobResult result;
    if (lease.job.rung == Rung::latency) {
      result.latency = {{1, 1, 0, 1.0, 2.0}};
    } else {
      result.accuracy = accuracy;
    }
    EXPECT_TRUE(store->finish(lease.job, result, now));
    log += fmt::format("{}{} ", std::string_view("qlft")[static_cast<std::size_t>(lease.job.rung)], lease.job.trial);
  }

  /// Runs to the end; the accuracy of trial n is 0.5 + n / 1000, the original's 0.9.
  void run() {
    for (int i = 0; i < 10000; ++i) {
      const Next what = ask();
      if (std::holds_alternative<Finished>(what)) return;
      ASSERT_TRUE(std::holds_alternative<Lease>(what)) << std::get<Wait>(what).reason;
      Lease lease = std::get<Lease>(what);
      store->release(lease.job, now);
      lease = take();
      finish(lease, lease.trial.number == 0 ? 0.9 : 0.5 + lease.trial.number / 1000.0);
    }
    FAIL() << "no end";
  }

  std::map<Rung, int> done() {
    std::map<Rung, int> counts;
    for (const auto& [rung, jobs] : store->job_counts()) counts[rung] = jobs.done;
    return counts;
  }

  fake::Folder folder;
  double now = 1000;
  std::array<double, rung_count> seconds = {10, 30, 100, 5};
  std::string log;
  std::optional<Store> store;
};

Json asked(int trials, double time_limit_s) {
  Json spec = fake::spec(trials);
  spec["ladder"]["time_limit_s"] = time_limit_s;
  spec["ladder"]["latency_s"] = 5;
  return spec;
}

TEST_F(Ladder, ClimbsFromCandidatesToFinalistsToLatency) {
  begin(fake::spec(9));
  run();
  EXPECT_EQ(log, "q0 q1 q2 q3 q4 q5 q6 q7 q8 q9 l0 l9 l8 l7 f0 f9 f8 f7 f0 f9 f8 f7 t7 t8 t9 ");
  EXPECT_EQ(store->trial_counts(), (std::map<TrialState, int>{{TrialState::complete, 3}, {TrialState::stopped, 6}}));
  EXPECT_EQ(store->trial(0).state, TrialState::complete);
  EXPECT_EQ(store->trial(1).reason, "not among the best 3 of 9 on rung quick");
  EXPECT_EQ(store->info().phase, rung_count);
  EXPECT_EQ(store->events().back().text, "the search is finished");
}

TEST_F(Ladder, NeverProposesWhileAnOldCandidateWaits) {
  begin(fake::spec(9));
  const Lease first = take();
  store->release(first.job, now);
  EXPECT_EQ(take("w2").job.id, first.job.id);
}

TEST_F(Ladder, WaitsForTheOthersAtTheEndOfARung) {
  begin(fake::spec(1));
  const Lease original = take("w1");
  const Lease candidate = take("w2");
  EXPECT_EQ(std::get<Wait>(ask("w3")).reason, "other workers have the last jobs of rung quick");
  finish(original, 0.9);
  finish(candidate, 0.8);
  EXPECT_EQ(take("w3").job.rung, Rung::longer);
}

TEST_F(Ladder, MeasuresOneLatencyAtATime) {
  begin(fake::spec(4));
  for (int i = 0; i < 5 + 4 + 8; ++i) {
    const Lease lease = take();
    ASSERT_NE(lease.job.rung, Rung::latency);
    finish(lease, 0.8 - lease.trial.number / 100.0);
  }
  const Lease first = take("w1");
  EXPECT_EQ(first.job.rung, Rung::latency);
  EXPECT_EQ(std::get<Wait>(ask("w2")).reason, "another latency is being measured");
  finish(first, 0);
  EXPECT_EQ(take("w2").job.rung, Rung::latency);
}

TEST_F(Ladder, LetsFinalistsWaitForTheOriginalThatTeachesThem) {
  Json spec = fake::spec(4);
  spec["ladder"]["original_first"] = true;
  begin(spec);
  for (int i = 0; i < 5 + 4; ++i) finish(take(), 0.9);
  const Lease original = take("w1");
  EXPECT_EQ(original.job.rung, Rung::full);
  EXPECT_EQ(original.trial.number, 0);
  EXPECT_EQ(std::get<Wait>(ask("w2")).reason, "the others of rung full wait for the original");
  store->release(original.job, now);  // its worker was interrupted: it is the next job again
  const Lease again = take("w2");
  EXPECT_EQ(again.job.id, original.job.id);
  finish(again, 0.9);
  EXPECT_GT(take("w1").trial.number, 0);
  EXPECT_GT(take("w2").trial.number, 0);
}

TEST_F(Ladder, LeavesRungsOutThatAreNotAskedFor) {
  Json spec = fake::spec(4);
  spec["ladder"]["promote"] = 0;
  spec["ladder"]["latency_s"] = 0;
  spec["ladder"]["finalist_seeds"] = 1;
  begin(spec);
  run();
  EXPECT_EQ(log, "q0 q1 q2 q3 q4 f0 f4 f3 f2 ");
}

TEST_F(Ladder, DoesNotCountRejectedCandidates) {
  begin(fake::spec(2));
  finish(take(), 0.9);
  for (int i = 0; i < 5; ++i) {
    const Lease lease = std::get<Lease>(ask());
    EXPECT_TRUE(store->reject(lease, "budget: macs", "budget: macs (macs = 9)", now));
  }
  EXPECT_EQ(take().trial.number, 6);
  EXPECT_EQ(take("w2").trial.number, 7);
  EXPECT_TRUE(std::holds_alternative<Wait>(ask("w3")));
}

TEST_F(Ladder, EndsWhenOnlyRejectionsCome) {
  Json spec = fake::spec(2);
  spec["ladder"]["give_up_after"] = 20;
  begin(spec);
  finish(take(), 0.9);
  int rejected = 0;
  for (;;) {
    const Next what = ask();
    if (std::holds_alternative<Finished>(what)) break;
    ASSERT_TRUE(store->reject(std::get<Lease>(what), "budget: macs", "none", now));
    ASSERT_LE(++rejected, 20);
  }
  EXPECT_EQ(rejected, 20);
  EXPECT_EQ(store->events()[1].text, "no more candidates: 20 in a row were rejected");
  EXPECT_EQ(done(), (std::map<Rung, int>{{Rung::quick, 21}}));
}

TEST_F(Ladder, FailuresAreResultsAndDoNotStopTheSearch) {
  begin(fake::spec(4));
  finish(take(), 0.9);
  for (int n = 1; n <= 4; ++n) {
    const Lease lease = take();
    if (n <= 2) {
      EXPECT_TRUE(store->finish(lease.job, JobResult::failed("diverged", "at epoch 1"), now));
    } else {
      finish(lease, 0.5);
    }
  }
  run();
  EXPECT_EQ(store->trial_counts(), (std::map<TrialState, int>{{TrialState::complete, 2}, {TrialState::failed, 2}}));
}

TEST_F(Ladder, TellsWhichSeedOfAFinalistFailed) {
  begin(fake::spec(1));
  for (int i = 0; i < 4; ++i) finish(take(), 0.9);
  for (int i = 0; i < 4; ++i) {
    const Lease lease = take();
    ASSERT_EQ(lease.job.rung, Rung::full);
    if (lease.trial.number == 1 && lease.job.seed == 1) {
      store->finish(lease.job, JobResult::failed("out of memory", "out of memory"), now);
    } else {
      finish(lease, 0.9);
    }
  }
  run();
  EXPECT_EQ(store->trial(1).state, TrialState::complete);
  EXPECT_EQ(store->trial(1).reason, "rung full, seed 1: out of memory");
}

TEST_F(Ladder, GoesOnWithMoreTrialsWithoutRepeatingAny) {
  begin(fake::spec(3));
  run();
  const std::size_t before = store->jobs().size();
  log.clear();
  begin(fake::spec(6));
  run();
  EXPECT_EQ(log, "q4 q5 q6 l6 l5 l4 f6 f5 f4 f6 f5 f4 t4 t5 t6 ");
  EXPECT_EQ(store->jobs().size(), before + 3 + 3 + 6 + 3);
  EXPECT_EQ(store->trial(1).state, TrialState::complete);
}

TEST_F(Ladder, TrainsAnAddedFinalistAndGoesOnSearchingAfterIt) {
  begin(fake::spec(3));
  run();
  log.clear();
  ASSERT_EQ(store->add_finalist({"assignment\n", "sites:1", nullptr, {500, 5}, {500, 5}, nullptr}, 2, now), 4);
  run();
  EXPECT_EQ(log, "f4 f4 t4 ");
  EXPECT_EQ(store->trial(4).state, TrialState::complete);
  log.clear();
  begin(fake::spec(4));
  run();
  EXPECT_TRUE(log.starts_with("q5 ")) << log;
  EXPECT_EQ(store->trial(5).state, TrialState::complete);
}

TEST_F(Ladder, KeepsTimeForTheFinalists) {
  // One unit takes 10 s: finalists need 4 * 2 * 100 + 3 * 5 = 815 s, rung longer 30 s for each third candidate.
  begin(asked(0, 1500));
  run();
  EXPECT_LE(store->info().active_seconds, 1500);
  EXPECT_GE(store->info().active_seconds, 1400);
  EXPECT_EQ(done()[Rung::full], 8);
  EXPECT_EQ(done()[Rung::latency], 3);
  EXPECT_GE(done()[Rung::quick], 30);
}

TEST_F(Ladder, CompletesTheFinalistsOfATimeLimitThatIsTooShort) {
  begin(asked(0, 100));
  run();
  EXPECT_EQ(done(), (std::map<Rung, int>{{Rung::quick, 4}, {Rung::longer, 4}, {Rung::full, 8}, {Rung::latency, 3}}));
}

TEST_F(Ladder, ExploresForItsShareEvenIfTheFinalistsNeedMoreThanTheRest) {
  begin(asked(0, 800));
  run();
  EXPECT_EQ(done()[Rung::quick], 20);  // 25 % of 800 s
}

TEST_F(Ladder, EndsRungLongerEarlyWhenTimeIsShort) {
  begin(asked(0, 1500));
  while (done()[Rung::longer] < 5) {
    const Lease lease = take();
    finish(lease, lease.trial.number == 0 ? 0.9 : 0.5 + lease.trial.number / 1000.0);
  }
  seconds[1] = 300;  // the machine has become slow
  run();
  const auto events = store->events();
  const auto cut =
      std::find_if(events.begin(), events.end(), [](const Event& e) { return e.text.starts_with("time is short"); });
  ASSERT_NE(cut, events.end());
  EXPECT_GT(cut->data.at("left_out"), 0);
  EXPECT_EQ(done()[Rung::full], 8);
  EXPECT_EQ(store->trial_counts().count(TrialState::running), 0u);
}

TEST_F(Ladder, CountsActiveTimeOverResumes) {
  begin(asked(0, 1500));
  for (int i = 0; i < 20; ++i) finish(take(), 0.5);
  const double before = store->info().active_seconds;
  EXPECT_EQ(before, 200);
  now += 100000;  // a night without workers
  begin(asked(0, 1500));
  run();
  EXPECT_LE(store->info().active_seconds, 1500);
  EXPECT_GE(store->info().active_seconds, 1400);
}

TEST_F(Ladder, GoesOnWithMoreTime) {
  begin(asked(0, 1500));
  run();
  const int before = done()[Rung::quick];
  begin(asked(0, 3000));
  run();
  // Here the later candidates are the better ones: all finalists are new, and 685 s remain for 20 s and more each.
  EXPECT_GT(done()[Rung::quick], before + 10);
  EXPECT_LE(store->info().active_seconds, 3000);
  EXPECT_EQ(done()[Rung::full], 8 + 6);
}

TEST_F(Ladder, PredictsTheTimeThatIsLeft) {
  begin(fake::spec(9));
  EXPECT_EQ(progress(*store).seconds_left, std::nullopt);
  finish(take(), 0.9);
  const double begun = now;
  const auto predicted = progress(*store).seconds_left;
  ASSERT_TRUE(predicted);
  run();
  EXPECT_NEAR(*predicted, now - begun, 0.1 * (now - begun));
  EXPECT_EQ(progress(*store).seconds_left, 0.0);
}

TEST_F(Ladder, ReportsWhereTheSearchStands) {
  begin(fake::spec(9));
  for (int i = 0; i < 5; ++i) {
    const Lease lease = take();
    finish(lease, lease.trial.number == 0 ? 0.9 : 0.5 + lease.trial.number / 1000.0);
  }
  take();
  const Progress p = progress(*store);
  EXPECT_EQ(p.phase, 0);
  EXPECT_EQ(p.trials, (std::map<TrialState, int>{{TrialState::running, 5}}));
  EXPECT_EQ(p.jobs.at(Rung::quick).done, 5);
  EXPECT_EQ(p.jobs.at(Rung::quick).leased, 1);
  EXPECT_EQ(p.original_accuracy, 0.9);
  ASSERT_TRUE(p.best);
  EXPECT_EQ(p.best->trial, 4);
  EXPECT_EQ(p.best_rung, Rung::quick);
  EXPECT_EQ(p.active_seconds, 50);
}

TEST(Rank, TakesTheFrontBeforeWhatItBeats) {
  const std::vector<RungResult> results = {{1, 0.80, {100, 10}, {}},
                                           {2, 0.79, {120, 10}, {}},
                                           {3, 0.60, {50, 10}, {}},
                                           {4, 0.90, {200, 10}, {}},
                                           {5, 0.55, {50, 10}, {}}};
  EXPECT_EQ(rank(results, 9), (std::vector<int>{4, 1, 3, 2, 5}));
  EXPECT_EQ(rank(results, 2), (std::vector<int>{4, 1}));
}

TEST(Rank, TakesTheCostOnAnAcceleratorInPlaceOfMacsAndLatencyWhereAllHaveOne) {
  const auto on = [](double value) { return Counts{100, 10, AcceleratorCost{1, 1, value}}; };
  std::vector<RungResult> results = {{1, 0.80, on(7), 1.0}, {2, 0.79, on(5), 9.0}, {3, 0.70, on(6), 0.5}};
  results[1].network.macs = 900;
  EXPECT_EQ(rank(results, 9), (std::vector<int>{1, 2, 3}));
  results[2].network.accelerator.reset();
  EXPECT_EQ(rank(results, 9), (std::vector<int>{1, 3, 2})) << "MACs and latency count again";
}

TEST(Rank, LooksAtLatencyOnlyWhereAllHaveOne) {
  const std::vector<RungResult> timed = {
      {1, 0.80, {100, 10}, 5.0}, {2, 0.79, {120, 10}, 2.0}, {3, 0.7, {130, 10}, 3.0}};
  EXPECT_EQ(rank(timed, 9), (std::vector<int>{1, 2, 3}));
  const std::vector<RungResult> some = {{1, 0.80, {100, 10}, 5.0}, {2, 0.79, {120, 10}, 2.0}, {3, 0.7, {90, 10}, {}}};
  EXPECT_EQ(rank(some, 9), (std::vector<int>{1, 3, 2}));
}

}  // namespace
}  // namespace kasimir::study
