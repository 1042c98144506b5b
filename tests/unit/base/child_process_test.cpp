// SPDX-License-Identifier: Apache-2.0
#include "support/thrown.h"

#include "kasimir/base/child_process.h"
#include "kasimir/base/files.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

std::vector<std::string> shell(const std::string& script) { return {"/bin/sh", "-c", script}; }

TEST(ChildProcess, GivesWhatACommandPrintsOnBothStreams) {
  const auto told = run_command(shell("echo one; echo two >&2"));
  ASSERT_TRUE(told.ok());
  EXPECT_EQ(*told, "one\ntwo\n");
}

TEST(ChildProcess, AnswersLineByLine) {
  ChildProcess child(shell("while read line; do echo \"got $line\"; done; echo end"));
  child.send("a");
  child.send("b");
  EXPECT_EQ(*child.answer(), "got a");
  EXPECT_EQ(*child.answer(), "got b");
  EXPECT_EQ(*child.finish(), "end\n");
}

TEST(ChildProcess, SaysHowItEndedAndWhatItSaidLast) {
  EXPECT_EQ(run_command(shell("echo broken; exit 3")).rejection().str(),
            "the child ends well (/bin/sh: exit code 3: broken)");
  EXPECT_EQ(run_command(shell("kill -9 $$")).rejection().str(), "the child ends well (/bin/sh: signal 9 (Killed))");
  ChildProcess child(shell("echo -n half; exit 5"));
  EXPECT_EQ(child.answer().rejection().str(), "the child answers (/bin/sh: exit code 5: half)");
  EXPECT_EQ(run_command({"/no/such/program"}).rejection().str(),
            "the child ends well (/no/such/program: exit code 127: cannot be started)");
}

TEST(ChildProcess, IsEndedWhenItTakesTooLong) {
  ChildLimits limits;
  limits.seconds = 0.2;
  EXPECT_EQ(run_command(shell("echo begun; sleep 100"), limits).rejection().str(),
            "the child ends well (/bin/sh: no answer after 0 s: begun)");
  ChildProcess child(shell("sleep 100"), limits);
  EXPECT_EQ(child.answer().rejection().str(), "the child answers (/bin/sh: no answer after 0 s)");
}

TEST(ChildProcess, OutlivesAChildThatIsGone) {
  ChildProcess child(shell("exec 0<&-; exit 0"));
  EXPECT_FALSE(child.answer().ok());
  child.send("nobody reads this");
}

TEST(ChildProcess, KeepsToItsLimits) {
  ChildLimits limits;
  limits.memory_bytes = 64 << 20;
  limits.environment = {"KASIMIR_TEST_VALUE=7"};
  EXPECT_EQ(*run_command(shell("ulimit -v; echo $KASIMIR_TEST_VALUE"), limits), "65536\n7\n");
}

TEST(TemporaryFolder, GoesWithTheObject) {
  std::filesystem::path path;
  {
    const TemporaryFolder folder;
    path = folder.path();
    write_file(path / "file", "text");
    EXPECT_TRUE(std::filesystem::exists(path / "file"));
  }
  EXPECT_FALSE(std::filesystem::exists(path));
}

}  // namespace
}  // namespace kasimir
