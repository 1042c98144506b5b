// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kasimir::testing {

/// How often `what` begins somewhere in the text.
inline std::size_t count_of(const std::string& text, const std::string& what) {
  std::size_t count = 0;
  for (auto at = text.find(what); at != std::string::npos; at = text.find(what, at + 1)) ++count;
  return count;
}

}  // namespace kasimir::testing
