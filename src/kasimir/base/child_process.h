// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"

#include <sys/types.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kasimir {

/// How a process ended: "signal 9 (Killed)", "exit code 4".
std::string end_text(int wait_status);

/// What a child process may use.
struct ChildLimits {
  double seconds = 60;                        ///< of wall time, for one command or one answer
  std::int64_t memory_bytes = 0;              ///< of address space; 0: no limit
  int cpu = -1;                               ///< the only processor that it may run on; -1: any
  std::vector<std::string> environment = {};  ///< "NAME=value", beside what this process has
};

/// A program that runs beside this one and answers line by line on its standard streams. It is killed with the object,
/// and dies with the thread that started it.
class ChildProcess {
 public:
  /// `argv[0]` is a path or a name that PATH finds. Standard error joins standard output.
  /// @throws Error (system) if it cannot be started.
  ChildProcess(const std::vector<std::string>& argv, const ChildLimits& limits = {});
  ~ChildProcess();
  ChildProcess(ChildProcess&&) noexcept;
  ChildProcess& operator=(ChildProcess&&) noexcept;
  ChildProcess(const ChildProcess&) = delete;
  ChildProcess& operator=(const ChildProcess&) = delete;

  /// Writes a line. A child that is gone shows in what it answers.
  void send(const std::string& line);
  /// The next line, without its end. Rejected with rule "the child answers" if it ends first or takes too long; the
  /// values say how it ended and what it said last.
  Outcome<std::string> answer();
  /// Closes its standard input, waits for its end and gives all that it still said. Rejected with rule "the child ends
  /// well" if it fails or takes too long.
  Outcome<std::string> finish();

 private:
  enum class Got : std::uint8_t { data, end, late };
  Got read_some(double until);
  Rejection failed(const char* rule, Got how);
  void stop();

  pid_t pid_ = -1;
  int in_ = -1;   ///< its standard input
  int out_ = -1;  ///< its standard output
  double seconds_ = 0;
  std::string name_;
  std::string unread_;
};

/// Runs a command to its end: what it printed, or why it failed.
Outcome<std::string> run_command(const std::vector<std::string>& argv, const ChildLimits& limits = {});

/// A folder of its own below the system's folder for temporary files, removed with the object.
class TemporaryFolder {
 public:
  TemporaryFolder();  ///< @throws Error (system) if it cannot be made
  ~TemporaryFolder();
  TemporaryFolder(TemporaryFolder&& other) noexcept;
  TemporaryFolder& operator=(TemporaryFolder&& other) noexcept;
  TemporaryFolder(const TemporaryFolder&) = delete;
  TemporaryFolder& operator=(const TemporaryFolder&) = delete;
  [[nodiscard]] const std::filesystem::path& path() const { return path_; }

 private:
  std::filesystem::path path_;
};

}  // namespace kasimir
