// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/process.h"

#include "kasimir/base/child_process.h"
#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <gtest/gtest.h>
#include <sys/wait.h>
#include <unistd.h>

#include <csignal>

namespace kasimir::study {
namespace {

TEST(WorkerId, NamesAProcessThatLives) {
  EXPECT_EQ(split(local_worker_id(), ':').size(), 4u) << local_worker_id();
  EXPECT_FALSE(is_dead_local(local_worker_id()));
}

TEST(WorkerId, TellsAnotherProcessWithTheSameNumberApart) {
  std::vector<std::string> parts = split(local_worker_id(), ':');
  parts[2] = "1";
  EXPECT_TRUE(is_dead_local(join(parts, ":")));
}

TEST(WorkerId, KnowsThatNothingSurvivesABoot) {
  std::vector<std::string> parts = split(local_worker_id(), ':');
  parts[3] = "00000000-" + split(parts[3], '-').back();
  EXPECT_TRUE(is_dead_local(join(parts, ":")));
}

TEST(WorkerId, LeavesOthersAlone) {
  std::vector<std::string> parts = split(local_worker_id(), ':');
  parts[0] = "elsewhere";
  EXPECT_FALSE(is_dead_local(join(parts, ":")));
  EXPECT_FALSE(is_dead_local("w1"));
  parts = split(local_worker_id(), ':');
  parts[3] = split(parts[3], '-').front() + "-1";
  EXPECT_FALSE(is_dead_local(join(parts, ":")));
}

TEST(Process, TellsHowItEnded) {
  int status = 0;
  ::waitpid(start_process({"/bin/sh", "-c", "exit 4"}), &status, 0);
  EXPECT_EQ(end_text(status), "exit code 4");
  ::waitpid(start_process({"/bin/sh", "-c", "kill -9 $$"}), &status, 0);
  EXPECT_EQ(end_text(status), "signal 9 (Killed)");
}

TEST(Process, NamesAProgramThatIsNotThere) {
  std::string text;
  try {
    start_process({"/nowhere/worker"});
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::system);
    text = error.what();
  }
  EXPECT_EQ(text, "cannot start a worker: /nowhere/worker: No such file or directory");
}

}  // namespace
}  // namespace kasimir::study
