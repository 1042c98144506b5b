// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/worker.h"

#include "fake.h"

#include "kasimir/base/error.h"

#include <gtest/gtest.h>

#include <new>
#include <stdexcept>

namespace kasimir::study {
namespace {

std::string whole_run(const std::filesystem::path& path, int trials) {
  fake::start(path, fake::spec(trials));
  EXPECT_EQ(run_worker(path, fake::ask(1), fake::evaluate()), WorkerEnd::finished);
  return fake::outcome_text(Store::view(path));
}

TEST(Worker, RunsASearchToItsEnd) {
  const fake::Folder folder;
  whole_run(folder / "a.db", 20);
  const Store store = Store::view(folder / "a.db");
  const auto counts = store.trial_counts();
  EXPECT_EQ(counts.at(TrialState::complete), 3);
  EXPECT_EQ(counts.at(TrialState::complete) + counts.at(TrialState::stopped) + counts.at(TrialState::failed), 20);
  EXPECT_GT(store.reasons(TrialState::rejected).at("budget: macs"), 0);
  EXPECT_GT(store.reasons(TrialState::rejected).at("signal variance"), 0);
  for (const Job& job : store.jobs()) {
    EXPECT_TRUE(job.state == JobState::done || job.state == JobState::failed) << job.id;
    EXPECT_EQ(job.attempts, 1);
  }
  const Trial original = store.trial(0);
  EXPECT_EQ(original.kernel, "");
  EXPECT_EQ(original.network, (Counts{1200, 120}));
}

TEST(Worker, GivesTheSameOutcomeForTheSameSeed) {
  const fake::Folder folder;
  EXPECT_EQ(whole_run(folder / "a.db", 20), whole_run(folder / "b.db", 20));
}

TEST(Worker, StopsWhenAskedAndGoesOnWhereItWas) {
  const fake::Folder folder;
  const std::string whole = whole_run(folder / "whole.db", 12);
  fake::start(folder / "a.db", fake::spec(12));
  std::atomic<int> stop{go_on};
  int jobs = 0;
  int epochs = 0;
  const Evaluate interrupted = [&](const Job& job, const Trial& trial, JobObserver& observer) {
    JobObserver inner = observer;
    inner.epoch = [&](const CurveRow& row) {
      observer.epoch(row);
      if (++epochs % 17 == 0) stop = stop_soon;
    };
    ++jobs;
    return fake::evaluate()(job, trial, inner);
  };
  WorkerOptions options;
  options.stop = &stop;
  int stops = 0;
  while (run_worker(folder / "a.db", fake::ask(1), interrupted, options) == WorkerEnd::stopped) {
    ++stops;
    for (const Job& job : Store::view(folder / "a.db").jobs()) EXPECT_NE(job.state, JobState::leased);
    stop = go_on;
  }
  EXPECT_GE(stops, 3);
  EXPECT_EQ(fake::outcome_text(Store::view(folder / "a.db")), whole);
}

TEST(Worker, RecordsWhateverAnEvaluatorThrows) {
  const fake::Folder folder;
  fake::start(folder / "a.db", fake::spec(5));
  const Evaluate throwing = [](const Job& job, const Trial& trial, JobObserver& observer) -> JobResult {
    if (trial.number == 1) throw std::bad_alloc();
    if (trial.number == 2) throw std::runtime_error("expected 3 channels");
    if (trial.number == 4) fail_check("n == 3", "/src/kasimir/train/module.cpp", 12, "n = 4");
    if (trial.number == 5) return JobResult::stopped();
    return fake::evaluate()(job, trial, observer);
  };
  const Ask every = [](int n) -> Outcome<Proposal> {
    return Proposal{"k", n == 0 ? "" : fmt::format("h{}", n), nullptr, {}, {}, nullptr};
  };
  EXPECT_EQ(run_worker(folder / "a.db", every, throwing), WorkerEnd::finished);
  const Store store = Store::view(folder / "a.db");
  EXPECT_EQ(store.trial(1).reason, "out of memory");
  EXPECT_EQ(store.trial(2).reason, "expected 3 channels");
  EXPECT_EQ(store.trial(4).rule, "internal error");
  EXPECT_EQ(store.trial(4).reason.substr(0, 31), "internal error: n = 4 (n == 3)\n");
  EXPECT_EQ(store.trial(5).reason, "the evaluator gave up without being asked to");
  EXPECT_EQ(store.trial(3).state, TrialState::complete);
}

TEST(Worker, EndsWithTheErrorThatStopsTheCommandAndGivesTheJobBack) {
  const fake::Folder folder;
  fake::start(folder / "a.db", fake::spec(5));
  const Evaluate evaluate = [](const Job&, const Trial&, JobObserver&) -> JobResult {
    throw input_error("the data folder is gone").note("put it back");
  };
  std::string text;
  try {
    run_worker(folder / "a.db", fake::ask(1), evaluate);
  } catch (const Error& error) {
    text = error.what();
  }
  EXPECT_EQ(text, "the data folder is gone\n  put it back");
  const Store store = Store::view(folder / "a.db");
  EXPECT_EQ(store.jobs().front().state, JobState::queued);
  EXPECT_EQ(store.events().back().kind, "error");
  EXPECT_EQ(store.events().back().data,
            (Json{{"fault", 2}, {"message", "the data folder is gone"}, {"notes", {"put it back"}}, {"trial", 0}}));
}

TEST(Worker, AbandonsAJobThatItHasLost) {
  const fake::Folder folder;
  fake::start(folder / "a.db", fake::spec(2));
  int stolen = 0;
  bool noticed = false;
  const Evaluate evaluate = [&](const Job& job, const Trial& trial, JobObserver& observer) {
    if (trial.number == 1 && stolen == 0) {
      ++stolen;
      Store other = Store::join(folder / "a.db");
      other.requeue_expired(wall_clock() + 1000, 3);
      const auto lease = other.lease(Rung::quick, "thief", wall_clock(), 600);
      observer.epoch({1, 1, 1, 1, 1, 1, 1});
      noticed = observer.should_stop();
      JobResult theirs;
      theirs.accuracy = 0.25;
      other.finish(lease->job, theirs, wall_clock());
      JobResult late;
      late.accuracy = 0.99;
      return late;
    }
    return fake::evaluate()(job, trial, observer);
  };
  EXPECT_EQ(run_worker(folder / "a.db", fake::ask(1), evaluate), WorkerEnd::finished);
  EXPECT_TRUE(noticed);
  const Job job = Store::view(folder / "a.db").jobs_of(1).front();
  EXPECT_EQ(job.accuracy, 0.25);
  EXPECT_EQ(job.worker, "thief");
}

TEST(Worker, KeepsALongJobAliveWithHeartbeats) {
  const fake::Folder folder;
  fake::start(folder / "a.db", fake::spec(1));
  WorkerOptions options;
  options.lease_s = 0.3;
  options.heartbeat_s = 0.02;
  double first = 0;
  double last = 0;
  const Evaluate evaluate = [&](const Job& job, const Trial& trial, JobObserver& observer) {
    if (job.rung == Rung::quick && trial.number == 1) {
      const Store reader = Store::view(folder / "a.db");
      first = reader.jobs_of(1).front().lease_until;
      last = first;
      while (last == first && !observer.should_stop()) {
        std::this_thread::sleep_for(std::chrono::milliseconds(5));
        last = reader.jobs_of(1).front().lease_until;
      }
    }
    return fake::evaluate()(job, trial, observer);
  };
  EXPECT_EQ(run_worker(folder / "a.db", fake::ask(1), evaluate, options), WorkerEnd::finished);
  EXPECT_GT(last, first);
}

TEST(Worker, TwoThreadsShareAStudyAndAgreeWithOne) {
  const fake::Folder folder;
  const std::string whole = whole_run(folder / "whole.db", 15);
  fake::start(folder / "a.db", fake::spec(15));
  WorkerOptions options;
  options.poll_s = 0.002;
  const auto work = [&](const std::string& id) {
    WorkerOptions mine = options;
    mine.id = id;
    run_worker(folder / "a.db", fake::ask(1), fake::evaluate(std::chrono::microseconds(300)), mine);
  };
  std::thread other([&] { work("w2"); });
  work("w1");
  other.join();
  const Store store = Store::view(folder / "a.db");
  std::map<std::string, int> jobs;
  for (const Job& job : store.jobs()) ++jobs[job.worker];
  EXPECT_GT(jobs["w1"], 0);
  EXPECT_GT(jobs["w2"], 0);
  EXPECT_EQ(fake::outcome_text(store), whole);
}

}  // namespace
}  // namespace kasimir::study
