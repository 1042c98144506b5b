// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace kasimir {

/// The time since it was made, by a clock that never goes back.
class Stopwatch {
 public:
  [[nodiscard]] double seconds() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
  }
  [[nodiscard]] double milliseconds() const { return 1000 * seconds(); }

 private:
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace kasimir
