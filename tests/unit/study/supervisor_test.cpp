// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/supervisor.h"

#include "fake.h"

#include "kasimir/base/error.h"

#include <gtest/gtest.h>

namespace kasimir::study {
namespace {

class Supervisor : public testing::Test {
 protected:
  void SetUp() override {
    path = folder / "a.db";
    options.workers = 2;
    options.poll_s = 0.01;
    options.stop = &stop;
  }

  WorkerEnd run(const std::string& microseconds, const std::string& mode = "") {
    options.argv = {KASIMIR_FAKE_WORKER, path.string(), microseconds};
    if (!mode.empty()) options.argv.push_back(mode);
    return supervise(path, options, [this](const Progress& p, const std::vector<Event>& events) {
      last = p;
      for (const Event& event : events) seen.push_back(event);
      if (on_report) on_report(p);
    });
  }

  int seen_of(const std::string& kind) {
    return static_cast<int>(std::count_if(seen.begin(), seen.end(), [&](const Event& e) { return e.kind == kind; }));
  }

  fake::Folder folder;
  std::filesystem::path path;
  SupervisorOptions options;
  std::atomic<int> stop{go_on};
  Progress last;
  std::vector<Event> seen;
  std::function<void(const Progress&)> on_report;
};

TEST_F(Supervisor, RunsWorkersToTheEndAndTellsEveryEventOnce) {
  fake::start(path, fake::spec(12), wall_clock());
  EXPECT_EQ(run("500"), WorkerEnd::finished);
  EXPECT_EQ(last.phase, rung_count);
  EXPECT_EQ(last.seconds_left, 0.0);
  std::vector<Event> stored = Store::view(path).events();
  stored.erase(stored.begin());  // "study": before the supervisor
  ASSERT_EQ(seen.size(), stored.size());
  for (std::size_t i = 0; i < seen.size(); ++i) EXPECT_EQ(seen[i].id, stored[i].id);
  EXPECT_GT(seen_of("improvement"), 0);
  EXPECT_EQ(seen_of("finish"), 1);
}

TEST_F(Supervisor, ReplacesWorkersThatDieAndGivesUpTheJobThatKillsThem) {
  fake::start(path, fake::spec(6), wall_clock());
  EXPECT_EQ(run("500", "die"), WorkerEnd::finished);
  const Store store = Store::view(path);
  EXPECT_EQ(store.trial(3).state, TrialState::failed);
  EXPECT_EQ(store.trial(3).reason, "the worker died 3 times");
  EXPECT_EQ(seen_of("death"), 3);
  for (const Event& event : seen) {
    if (event.kind != "death") continue;
    EXPECT_EQ(event.text, fmt::format("worker {} died: signal 9 (Killed); another takes its place",
                                      event.data.at("pid").get<int>()));
  }
}

TEST_F(Supervisor, StopsWhenAskedAndGoesOnWithTheSameCommand) {
  fake::start(path, fake::spec(12), wall_clock());
  on_report = [this](const Progress& p) {
    if (p.jobs.contains(Rung::quick) && p.jobs.at(Rung::quick).done >= 3) stop = stop_soon;
  };
  EXPECT_EQ(run("5000"), WorkerEnd::stopped);
  EXPECT_EQ(seen.back().text, "stopped; the same command goes on from here");
  EXPECT_EQ(Store::view(path).count_jobs(JobState::leased), 0);
  on_report = nullptr;
  stop = go_on;
  EXPECT_EQ(run("100"), WorkerEnd::finished);
  for (const Job& job : Store::view(path).jobs()) EXPECT_EQ(job.lost, 0);
}

TEST_F(Supervisor, KillsAtOnceWhenAskedTwice) {
  fake::start(path, fake::spec(12), wall_clock());
  on_report = [this](const Progress& p) {
    if (p.jobs.contains(Rung::quick) && p.jobs.at(Rung::quick).leased > 0) stop = stop_now;
  };
  EXPECT_EQ(run("30000000"), WorkerEnd::stopped);  // ninety seconds a job: a graceful stop would wait for an epoch
  const Store store = Store::view(path);
  EXPECT_EQ(store.count_jobs(JobState::leased), 0);
  for (const Job& job : store.jobs()) EXPECT_EQ(job.lost, 0);
}

TEST_F(Supervisor, EndsWithTheErrorOfAWorker) {
  fake::start(path, fake::spec(6), wall_clock());
  std::string text;
  try {
    run("500", "error");
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input);
    text = error.what();
  }
  EXPECT_EQ(text, "the data folder is gone\n  put it back");
}

TEST_F(Supervisor, GivesUpWhenWorkersKeepDying) {
  fake::start(path, fake::spec(6), wall_clock());
  options.argv = {"/bin/sh", "-c", "exit 9"};
  std::string text;
  try {
    supervise(path, options, [](const Progress&, const std::vector<Event>&) {});
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::system);
    text = error.what();
  }
  EXPECT_EQ(text,
            "the workers keep dying: 9 deaths without a finished job, the last by exit code 9\n"
            "  all finished work is kept; the same command goes on once the cause is removed");
}

}  // namespace
}  // namespace kasimir::study
