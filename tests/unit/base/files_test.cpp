// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/files.h"

#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <csignal>
#include <cstdlib>
#include <thread>
#include <vector>

namespace kasimir {
namespace {

namespace fs = std::filesystem;
using testing::thrown_by;

class Files : public ::testing::Test {
 protected:
  void SetUp() override {
    std::string name = (fs::temp_directory_path() / "kasimir-files-XXXXXX").string();
    ASSERT_NE(::mkdtemp(name.data()), nullptr);
    folder = name;
  }
  void TearDown() override { fs::remove_all(folder); }

  [[nodiscard]] std::vector<std::string> names() const {
    std::vector<std::string> found;
    for (const auto& entry : fs::directory_iterator(folder)) found.push_back(entry.path().filename().string());
    std::sort(found.begin(), found.end());
    return found;
  }

  fs::path folder;
};

/// Refuses to write past a size, as a full disk does, until it goes out of scope.
class FileSizeLimit {
 public:
  explicit FileSizeLimit(rlim_t bytes) {
    old_handler_ = std::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    rlimit limit = old_;
    limit.rlim_cur = bytes;
    ::setrlimit(RLIMIT_FSIZE, &limit);
  }
  FileSizeLimit(const FileSizeLimit&) = delete;
  FileSizeLimit& operator=(const FileSizeLimit&) = delete;
  ~FileSizeLimit() {
    ::setrlimit(RLIMIT_FSIZE, &old_);
    std::signal(SIGXFSZ, old_handler_);
  }

 private:
  rlimit old_{};
  void (*old_handler_)(int) = nullptr;
};

TEST_F(Files, ReadsWhatWasWritten) {
  std::string bytes(300000, '\0');
  for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<char>(i * 7 % 256);
  for (const std::string& content : {std::string(), std::string("one\r\ntwo\n"), bytes}) {
    write_file(folder / "a.bin", content);
    EXPECT_EQ(read_file(folder / "a.bin"), content);
  }
  EXPECT_EQ(names(), (std::vector<std::string>{"a.bin"}));
}

TEST_F(Files, SaysWhyAFileCannotBeRead) {
  const std::string missing = (folder / "missing").string();
  EXPECT_EQ(thrown_by([&] { return read_file(missing); }), "2: cannot read " + missing + ": No such file or directory");
  EXPECT_EQ(thrown_by([&] { return read_file(folder); }), "2: cannot read " + folder.string() + ": it is a folder");
}

TEST_F(Files, ReportsAnErrorThatComesInTheMiddleOfReading) {
  // Address 0 of a process is never mapped, so that opening succeeds and reading fails.
  EXPECT_EQ(thrown_by([] { return read_file("/proc/self/mem"); }), "2: cannot read /proc/self/mem: Input/output error");
}

TEST_F(Files, LeavesTheOldFileWhereTheDiskIsFull) {
  const fs::path path = folder / "study.json";
  write_file(path, "old");
  std::string message;
  {
    const FileSizeLimit limit(4096);
    message = thrown_by([&] { write_file(path, std::string(10000, 'x')); });
  }
  EXPECT_EQ(message, "4: cannot write " + path.string() +
                         ": File too large\n"
                         "  nothing was changed; free some space or choose another place and repeat the command");
  EXPECT_EQ(read_file(path), "old");
  EXPECT_EQ(names(), (std::vector<std::string>{"study.json"}));
}

TEST_F(Files, SaysThatADeviceIsFull) {
  EXPECT_EQ(thrown_by([] { write_file("/dev/full", "text"); }), "4: cannot write /dev/full: No space left on device");
}

TEST_F(Files, SaysWhyAFileCannotBeWritten) {
  const std::string advice = "\n  nothing was changed; free some space or choose another place and repeat the command";
  const std::string nowhere = (folder / "no" / "a").string();
  EXPECT_EQ(thrown_by([&] { write_file(nowhere, "x"); }),
            "4: cannot create " + nowhere + ": No such file or directory" + advice);
  const fs::path inner = folder / "inner";
  fs::create_directory(inner);
  EXPECT_EQ(thrown_by([&] { write_file(inner, "x"); }),
            "4: cannot replace " + inner.string() + ": Is a directory" + advice);
  EXPECT_EQ(names(), (std::vector<std::string>{"inner"}));
}

TEST_F(Files, NeverShowsAReaderHalfAFile) {
  const fs::path path = folder / "a";
  const std::vector<std::string> contents = {std::string(100000, 'a'), std::string(70000, 'b')};
  write_file(path, contents[0]);
  std::vector<std::thread> writers;
  for (const std::string& content : contents) {
    writers.emplace_back([&path, &content] {
      for (int i = 0; i < 50; ++i) write_file(path, content);
    });
  }
  for (int i = 0; i < 200; ++i) {
    const std::string seen = read_file(path);
    EXPECT_TRUE(seen == contents[0] || seen == contents[1]) << seen.size() << " bytes";
  }
  for (std::thread& writer : writers) writer.join();
  EXPECT_EQ(names(), (std::vector<std::string>{"a"}));
}

TEST_F(Files, KeepsAnAbandonedDraftOfAnotherWriter) {
  const std::string draft = fmt::format("a.{}-0.part", ::getpid());
  write_file(folder / draft, "half");
  write_file(folder / "a", "whole");
  EXPECT_EQ(read_file(folder / "a"), "whole");
  EXPECT_EQ(read_file(folder / draft), "half");
}

TEST_F(Files, KeepsPermissionsAndFollowsLinks) {
  write_file(folder / "secret", "old");
  ASSERT_EQ(::chmod((folder / "secret").c_str(), 0600), 0);
  fs::create_symlink("secret", folder / "link");
  write_file(folder / "link", "new");
  EXPECT_EQ(read_file(folder / "secret"), "new");
  EXPECT_TRUE(fs::is_symlink(folder / "link"));
  EXPECT_EQ(fs::status(folder / "secret").permissions(), fs::perms::owner_read | fs::perms::owner_write);
}

TEST_F(Files, WritesIntoAPipeInsteadOfReplacingIt) {
  const fs::path pipe = folder / "pipe";
  ASSERT_EQ(::mkfifo(pipe.c_str(), 0600), 0);
  std::string seen;
  std::thread reader([&] { seen = read_file(pipe); });
  write_file(pipe, "through");
  reader.join();
  EXPECT_EQ(seen, "through");
  EXPECT_TRUE(fs::is_fifo(pipe));
}

}  // namespace
}  // namespace kasimir
