// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/error.h"

namespace kasimir {

Error::Error(Fault fault, std::string message)
    : std::runtime_error(message), fault_(fault), message_(std::move(message)), full_(message_) {}

Error& Error::note(std::string line) {
  full_ += "\n  " + line;
  notes_.push_back(std::move(line));
  return *this;
}

void fail_check(std::string_view condition, std::string_view file, int line, std::string values) {
  const auto slash = file.rfind("/src/");
  if (slash != std::string_view::npos) file.remove_prefix(slash + 1);
  throw Error(Fault::bug, fmt::format("internal error: {} ({})", values, condition))
      .note(fmt::format("at {}:{}", file, line))
      .note("this is a fault in kasimir, not in your input; please report it with the command");
}

}  // namespace kasimir
