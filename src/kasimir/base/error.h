// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <fmt/format.h>

#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kasimir {

/// Whose fault a failed command is. The value is the program's exit code.
enum class Fault : int { input = 2, unsolved = 3, system = 4, bug = 70 };

/// The command cannot go on. `what()` is the message and its notes, one per line.
/// Messages are lower case without a final period and say what was found, what was needed, where, and what to try.
class Error : public std::runtime_error {
 public:
  Error(Fault fault, std::string message);

  /// Adds a line of context or advice; returns *this so that it can be thrown.
  Error& note(std::string line);

  [[nodiscard]] Fault fault() const { return fault_; }
  [[nodiscard]] const std::string& message() const { return message_; }
  [[nodiscard]] const std::vector<std::string>& notes() const { return notes_; }
  [[nodiscard]] const char* what() const noexcept override { return full_.c_str(); }

 private:
  Fault fault_;
  std::string message_;
  std::vector<std::string> notes_;
  std::string full_;
};

/// The user's input is wrong: exit code 2.
template <typename... Args>
Error input_error(fmt::format_string<Args...> text, Args&&... args) {
  return {Fault::input, fmt::format(text, std::forward<Args>(args)...)};
}

/// The question was understood and has no answer within the limits given: exit code 3.
template <typename... Args>
Error unsolved_error(fmt::format_string<Args...> text, Args&&... args) {
  return {Fault::unsolved, fmt::format(text, std::forward<Args>(args)...)};
}

/// The machine refused (disk, memory, a program that is missing): exit code 4.
template <typename... Args>
Error system_error(fmt::format_string<Args...> text, Args&&... args) {
  return {Fault::system, fmt::format(text, std::forward<Args>(args)...)};
}

/// One of our own invariants does not hold: exit code 70.
[[noreturn]] void fail_check(std::string_view condition, std::string_view file, int line, std::string values);

}  // namespace kasimir

/// Our own invariant, on in all builds: KASIMIR_CHECK(a.size() == n, "{} rows, {} wanted", a.size(), n).
#define KASIMIR_CHECK(condition, ...)                                                                    \
  do {                                                                                                   \
    if (!(condition)) ::kasimir::fail_check(#condition, __FILE__, __LINE__, ::fmt::format(__VA_ARGS__)); \
  } while (false)
