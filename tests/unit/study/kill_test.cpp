// SPDX-License-Identifier: Apache-2.0
#include "fake.h"
#include "server.h"

#include "kasimir/base/child_process.h"
#include "kasimir/base/rng.h"
#include "kasimir/study/database.h"
#include "kasimir/study/process.h"
#include "kasimir/study/query.h"

#include <gtest/gtest.h>
#include <sys/wait.h>

#include <csignal>
#include <random>
#include <set>

namespace kasimir::study {
namespace {

std::string integrity(const std::filesystem::path& path) {
  Database database(path, Database::Mode::read);
  std::string text;
  Query(database, "pragma integrity_check").out(text).next();
  return text;
}

/// Every job is there once, is closed, and every trial has come to an end.
void expect_complete(const Store& store, int candidates) {
  std::set<std::tuple<int, Rung, int>> seen;
  for (const Job& job : store.jobs()) {
    EXPECT_TRUE(seen.insert({job.trial, job.rung, job.seed}).second) << "job twice: trial " << job.trial;
    EXPECT_TRUE(job.state == JobState::done || job.state == JobState::failed) << job.id << name_of(job.state);
    EXPECT_EQ(job.attempts, job.lost + 1) << job.id;
  }
  int counted = 0;
  int number = 0;
  for (const Trial& trial : store.trials()) {
    EXPECT_EQ(trial.number, number++);
    EXPECT_NE(trial.state, TrialState::running) << trial.number;
    EXPECT_NE(trial.state, TrialState::proposed) << trial.number;
    if (trial.number > 0 && trial.state != TrialState::rejected) ++counted;
  }
  EXPECT_EQ(counted, candidates);
  EXPECT_EQ(store.info().phase, rung_count);
}

Json spec_that_never_gives_up(int trials) {
  Json spec = fake::spec(trials);
  spec["ladder"]["max_lost"] = 1000;
  return spec;
}

std::string undisturbed(const StudyPlace& path, int trials) {
  fake::start(path, spec_that_never_gives_up(trials), wall_clock());
  run_worker(path, fake::ask(1), fake::evaluate());
  return fake::outcome_text(Store::view(path));
}

TEST(TwoProcesses, ShareAStudyAndAgreeWithOne) {
  const fake::Folder folder;
  const auto path = folder / "a.db";
  fake::start(path, spec_that_never_gives_up(40), wall_clock());
  const std::vector<std::string> argv = {KASIMIR_FAKE_WORKER, path.string(), "1000"};
  for (const pid_t worker : {start_process(argv), start_process(argv)}) {
    int status = 0;
    ::waitpid(worker, &status, 0);
    EXPECT_EQ(end_text(status), "exit code 0");
  }
  const Store store = Store::view(path);
  std::set<std::string> workers;
  for (const Job& job : store.jobs()) workers.insert(job.worker);
  EXPECT_EQ(workers.size(), 2u);
  expect_complete(store, 40);
  EXPECT_EQ(fake::outcome_text(store), undisturbed(folder / "b.db", 40));
}

struct Massacre {
  const char* name;
  bool on_server;
  std::size_t workers;
  int trials;
  int kills;
  const char* pause_us;  ///< per epoch: long enough that the kills come before the end
};

class KilledWorkers : public testing::TestWithParam<Massacre> {};
INSTANTIATE_TEST_SUITE_P(Places, KilledWorkers,
                         testing::Values(Massacre{"TwoOnAFile", false, 2, 150, 20, "4000"},
                                         Massacre{"SixteenOnAFile", false, 16, 500, 60, "40000"},
                                         Massacre{"SixteenOnAServer", true, 16, 500, 60, "40000"}),
                         [](const auto& of) { return std::string(of.param.name); });

TEST_P(KilledWorkers, LoseNoTrialAndCountNoneTwice) {
  const Massacre& asked = GetParam();
  if (asked.on_server && fake::Server::shared() == nullptr) GTEST_SKIP() << fake::no_server;
  const auto seed = static_cast<std::uint64_t>(std::random_device{}());
  SCOPED_TRACE(fmt::format("seed {}", seed));
  std::printf("seed %llu\n", static_cast<unsigned long long>(seed));
  Rng rng(seed);
  const fake::Folder folder;
  const StudyPlace place =
      asked.on_server ? StudyPlace(fake::Server::shared()->fresh_study()) : StudyPlace(folder / "a.db");
  Store store = fake::start(place, spec_that_never_gives_up(asked.trials), wall_clock());
  const std::vector<std::string> argv = {KASIMIR_FAKE_WORKER, place.text(), asked.pause_us};
  std::map<std::int64_t, double> finished;  // job -> when, to see that nothing is done again
  std::vector<pid_t> workers(asked.workers);
  for (pid_t& worker : workers) worker = start_process(argv);
  for (int kills = 0; kills < asked.kills; ++kills) {
    std::this_thread::sleep_for(std::chrono::microseconds(1000 + rng.below(40000)));
    pid_t& worker = workers.at(rng.below(workers.size()));
    int status = 0;
    ::kill(worker, SIGKILL);
    ASSERT_EQ(::waitpid(worker, &status, 0), worker);
    ASSERT_TRUE(WIFSIGNALED(status)) << "the search was over after " << kills << " kills: " << end_text(status);
    // A server undoes what a dead client had begun a moment later, when it reads from the connection.
    store.requeue_dead_local(wall_clock(), 1000);
    for (const Job& job : store.jobs()) {
      if (job.state != JobState::done && job.state != JobState::failed) continue;
      const auto [known, fresh] = finished.try_emplace(job.id, job.finished);
      EXPECT_EQ(known->second, job.finished) << "job " << job.id << " was done twice";
    }
    worker = start_process(argv);
  }
  for (const pid_t worker : workers) {
    int status = 0;
    ::waitpid(worker, &status, 0);
    EXPECT_EQ(end_text(status), "exit code 0");
  }
  if (!asked.on_server) {
    EXPECT_EQ(integrity(folder / "a.db"), "ok");
  }
  expect_complete(store, asked.trials);
  EXPECT_EQ(fake::outcome_text(store), undisturbed(folder / "b.db", asked.trials));
}

TEST(KilledSearch, GoesOnAtOnceWithTheSameOutcome) {
  const fake::Folder folder;
  const auto path = folder / "a.db";
  fake::start(path, fake::spec(10), wall_clock());
  const pid_t worker = start_process({KASIMIR_FAKE_WORKER, path.string(), "20000"});
  while (Store::view(path).count_jobs(JobState::leased) == 0) std::this_thread::sleep_for(std::chrono::milliseconds(5));
  ::kill(worker, SIGKILL);
  ::waitpid(worker, nullptr, 0);
  // The lease has most of a minute to run; a new worker sees that its holder is gone.
  EXPECT_EQ(run_worker(path, fake::ask(1), fake::evaluate()), WorkerEnd::finished);
  int lost = 0;
  for (const Job& job : Store::view(path).jobs()) lost += job.lost;
  EXPECT_EQ(lost, 1);
}

TEST(KilledCreation, LeavesAFileThatTheNextRunUses) {
  const fake::Folder folder;
  const auto path = folder / "a.db";
  for (int delay = 0; delay < 20; ++delay) {
    std::filesystem::remove(path);
    const pid_t child = ::fork();
    if (child == 0) {
      fake::start(path, fake::spec(3));
      ::_exit(0);
    }
    std::this_thread::sleep_for(std::chrono::microseconds(250 * delay));
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    const Store store = fake::start(path, fake::spec(3));
    EXPECT_EQ(store.info().spec, fake::spec(3));
    EXPECT_EQ(integrity(path), "ok");
  }
}

}  // namespace
}  // namespace kasimir::study
