// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/process.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <csignal>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <sstream>

namespace kasimir::study {
namespace {

/// When a process started, in ticks since boot (/proc/PID/stat, field 22 of proc(5)); empty if it does not run.
std::string start_of(const std::string& pid) {
  std::ifstream in("/proc/" + pid + "/stat");
  std::ostringstream text;
  text << in.rdbuf();
  const std::string stat = text.str();
  // The second field is a name in parentheses that may hold anything; the third follows the last parenthesis.
  const auto name_end = stat.rfind(')');
  if (name_end == std::string::npos || name_end + 2 > stat.size()) return "";
  const std::vector<std::string> fields = split(std::string_view(stat).substr(name_end + 2), ' ');
  if (fields.size() < 20 || fields[0] == "Z" || fields[0] == "X") return "";
  return fields[19];
}

/// What process ids of this machine mean: they are unique within one boot and one process namespace.
std::string scope() {
  std::ifstream in("/proc/sys/kernel/random/boot_id");
  std::string boot;
  in >> boot;
  std::error_code ignored;
  const std::string space = std::filesystem::read_symlink("/proc/self/ns/pid", ignored).string();
  const auto bracket = space.find('[');
  const std::string number = bracket == std::string::npos ? "" : space.substr(bracket + 1, space.size() - bracket - 2);
  return boot.substr(0, 8) + "-" + number;
}

std::string host() {
  std::array<char, 256> name{};
  if (::gethostname(name.data(), name.size() - 1) != 0) return "unknown";
  return name.data();
}

}  // namespace

std::string local_worker_id() {
  const std::string pid = std::to_string(::getpid());
  return fmt::format("{}:{}:{}:{}", host(), pid, start_of(pid), scope());
}

bool is_dead_local(std::string_view worker_id) {
  const std::vector<std::string> parts = split(worker_id, ':');
  if (parts.size() != 4 || parts[0] != host()) return false;
  const std::string here = scope();
  if (parts[3] == here) return start_of(parts[1]) != parts[2];
  // The same host after a new boot: whatever ran before is gone. Another process namespace is not ours to judge.
  return split(parts[3], '-').front() != split(here, '-').front();
}

pid_t start_process(const std::vector<std::string>& argv) {
  KASIMIR_CHECK(!argv.empty(), "no program");
  std::vector<char*> arguments;
  arguments.reserve(argv.size() + 1);
  for (const std::string& argument : argv) arguments.push_back(const_cast<char*>(argument.c_str()));
  arguments.push_back(nullptr);
  std::array<int, 2> report{};
  if (::pipe2(report.data(), O_CLOEXEC) != 0) throw system_error("cannot start a worker: {}", std::strerror(errno));
  const pid_t parent = ::getpid();
  const pid_t child = ::fork();
  if (child == 0) {
    // A worker without its supervisor would compete with the next run of the same command. It can lose nothing but the
    // job in flight, so the quick end is the right one. Only calls that are safe after a fork of many threads.
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (::getppid() != parent) ::_exit(127);
    ::execv(arguments[0], arguments.data());
    const int why = errno;
    const ssize_t told = ::write(report[1], &why, sizeof why);
    ::_exit(told == sizeof why ? 127 : 126);
  }
  const int fork_error = errno;
  ::close(report[1]);
  int why = 0;
  ssize_t got = 0;
  do {
    got = ::read(report[0], &why, sizeof why);
  } while (got < 0 && errno == EINTR);
  ::close(report[0]);
  if (child < 0) throw system_error("cannot start a worker: {}", std::strerror(fork_error));
  if (got == sizeof why) {
    ::waitpid(child, nullptr, 0);
    throw system_error("cannot start a worker: {}: {}", argv[0], std::strerror(why));
  }
  return child;
}

}  // namespace kasimir::study
