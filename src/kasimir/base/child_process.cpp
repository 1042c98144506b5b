// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/child_process.h"

#include "kasimir/base/error.h"

#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstring>

extern char** environ;

namespace kasimir {
namespace {

double now() { return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count(); }

/// The end of what a program said: enough to see why it failed.
std::string last_words(const std::string& text) {
  constexpr std::size_t most = 2000;
  std::string words = text.size() > most ? ".." + text.substr(text.size() - most) : text;
  while (!words.empty() && words.back() == '\n') words.pop_back();
  return words;
}

std::vector<char*> pointers(const std::vector<std::string>& strings) {
  std::vector<char*> all;
  all.reserve(strings.size() + 1);
  for (const std::string& string : strings) all.push_back(const_cast<char*>(string.c_str()));
  all.push_back(nullptr);
  return all;
}

/// Runs in the child: only calls that are safe after a fork of many threads.
[[noreturn]] void become(char* const* argv, char* const* environment, const ChildLimits& limits, pid_t parent, int in,
                         int out) {
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(127);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(out, STDERR_FILENO);
  if (limits.memory_bytes > 0) {
    const rlimit most{static_cast<rlim_t>(limits.memory_bytes), static_cast<rlim_t>(limits.memory_bytes)};
    ::setrlimit(RLIMIT_AS, &most);
  }
  if (limits.cpu >= 0) {
    cpu_set_t one;
    CPU_ZERO(&one);
    CPU_SET(static_cast<unsigned>(limits.cpu), &one);
    ::sched_setaffinity(0, sizeof one, &one);
  }
  ::execvpe(argv[0], argv, environment);
  constexpr std::string_view message = "cannot be started\n";
  const ssize_t ignored = ::write(STDOUT_FILENO, message.data(), message.size());
  ::_exit(ignored < 0 ? 126 : 127);
}

}  // namespace

std::string end_text(int wait_status) {
  if (WIFSIGNALED(wait_status))
    return fmt::format("signal {} ({})", WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
  return fmt::format("exit code {}", WEXITSTATUS(wait_status));
}

ChildProcess::ChildProcess(const std::vector<std::string>& argv, const ChildLimits& limits)
    : seconds_(limits.seconds), name_(argv.empty() ? "" : argv[0]) {
  KASIMIR_CHECK(!argv.empty(), "no program");
  std::array<int, 2> to{};
  std::array<int, 2> from{};
  if (::pipe2(to.data(), O_CLOEXEC) != 0) throw system_error("cannot start {}: {}", name_, std::strerror(errno));
  if (::pipe2(from.data(), O_CLOEXEC) != 0) {
    const int why = errno;
    ::close(to[0]);
    ::close(to[1]);
    throw system_error("cannot start {}: {}", name_, std::strerror(why));
  }
  const auto arguments = pointers(argv);
  std::vector<std::string> strings = limits.environment;
  for (char** entry = environ; *entry != nullptr; ++entry) strings.emplace_back(*entry);
  const auto environment = pointers(strings);
  const pid_t parent = ::getpid();
  pid_ = ::fork();
  if (pid_ == 0) become(arguments.data(), environment.data(), limits, parent, to[0], from[1]);
  const int why = errno;
  ::close(to[0]);
  ::close(from[1]);
  in_ = to[1];
  out_ = from[0];
  if (pid_ < 0) {
    stop();
    throw system_error("cannot start {}: {}", name_, std::strerror(why));
  }
}

ChildProcess::~ChildProcess() { stop(); }

ChildProcess::ChildProcess(ChildProcess&& other) noexcept { *this = std::move(other); }

ChildProcess& ChildProcess::operator=(ChildProcess&& other) noexcept {
  std::swap(pid_, other.pid_);
  std::swap(in_, other.in_);
  std::swap(out_, other.out_);
  std::swap(seconds_, other.seconds_);
  std::swap(name_, other.name_);
  std::swap(unread_, other.unread_);
  return *this;
}

void ChildProcess::stop() {
  if (in_ >= 0) ::close(in_);
  if (out_ >= 0) ::close(out_);
  in_ = out_ = -1;
  if (pid_ > 0) {
    ::kill(pid_, SIGKILL);
    while (::waitpid(pid_, nullptr, 0) < 0 && errno == EINTR) {
    }
  }
  pid_ = -1;
}

void ChildProcess::send(const std::string& line) {
  // A child that is gone must not end this process.
  struct sigaction ignore{};
  struct sigaction before{};
  ignore.sa_handler = SIG_IGN;
  ::sigaction(SIGPIPE, &ignore, &before);
  const std::string text = line + "\n";
  std::size_t sent = 0;
  while (sent < text.size()) {
    const ssize_t wrote = ::write(in_, text.data() + sent, text.size() - sent);
    if (wrote < 0 && errno == EINTR) continue;
    if (wrote <= 0) break;
    sent += static_cast<std::size_t>(wrote);
  }
  ::sigaction(SIGPIPE, &before, nullptr);
}

ChildProcess::Got ChildProcess::read_some(double until) {
  while (true) {
    const double left = until - now();
    if (left <= 0) return Got::late;
    pollfd wait{out_, POLLIN, 0};
    const int ready = ::poll(&wait, 1, static_cast<int>(std::min(left, 3600.0) * 1000) + 1);
    if (ready < 0 && errno == EINTR) continue;
    if (ready == 0) continue;
    std::array<char, 65536> part{};
    const ssize_t got = ::read(out_, part.data(), part.size());
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return Got::end;
    unread_.append(part.data(), static_cast<std::size_t>(got));
    return Got::data;
  }
}

Rejection ChildProcess::failed(const char* rule, Got how) {
  std::string end = fmt::format("no answer after {:.0f} s", seconds_);
  if (how == Got::end && pid_ > 0) {
    int status = 0;
    while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
    }
    pid_ = -1;
    end = end_text(status);
  }
  const std::string words = last_words(unread_);
  return {rule, fmt::format("{}: {}{}{}", name_, end, words.empty() ? "" : ": ", words)};
}

Outcome<std::string> ChildProcess::answer() {
  const double until = now() + seconds_;
  while (true) {
    const auto end = unread_.find('\n');
    if (end != std::string::npos) {
      std::string line = unread_.substr(0, end);
      unread_.erase(0, end + 1);
      return line;
    }
    const Got got = read_some(until);
    if (got != Got::data) return failed("the child answers", got);
  }
}

Outcome<std::string> ChildProcess::finish() {
  ::close(in_);
  in_ = -1;
  const double until = now() + seconds_;
  Got got = Got::data;
  while (got == Got::data) got = read_some(until);
  if (got == Got::late) {
    Rejection late = failed("the child ends well", got);
    stop();
    return late;
  }
  int status = 0;
  while (::waitpid(pid_, &status, 0) < 0 && errno == EINTR) {
  }
  pid_ = -1;
  if (!WIFEXITED(status) || WEXITSTATUS(status) != 0) {
    const std::string words = last_words(unread_);
    return Rejection{"the child ends well",
                     fmt::format("{}: {}{}{}", name_, end_text(status), words.empty() ? "" : ": ", words)};
  }
  return std::move(unread_);
}

Outcome<std::string> run_command(const std::vector<std::string>& argv, const ChildLimits& limits) {
  return ChildProcess(argv, limits).finish();
}

TemporaryFolder::TemporaryFolder() {
  std::string name = (std::filesystem::temp_directory_path() / "kasimir-XXXXXX").string();
  if (::mkdtemp(name.data()) == nullptr)
    throw system_error("cannot make a temporary folder {}: {}", name, std::strerror(errno));
  path_ = name;
}

TemporaryFolder::~TemporaryFolder() {
  std::error_code ignored;
  if (!path_.empty()) std::filesystem::remove_all(path_, ignored);
}

TemporaryFolder::TemporaryFolder(TemporaryFolder&& other) noexcept : path_(std::exchange(other.path_, {})) {}

TemporaryFolder& TemporaryFolder::operator=(TemporaryFolder&& other) noexcept {
  std::swap(path_, other.path_);
  return *this;
}

}  // namespace kasimir
