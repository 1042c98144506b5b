// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/worker.h"

#include <csignal>

namespace kasimir {

/// Counts Ctrl-C and SIGTERM as requests to stop: the first asks to stop soon, the next to stop now.
inline const std::atomic<int>& catch_interrupts() {
  static std::atomic<int> requests{study::go_on};
  struct sigaction handler{};
  handler.sa_handler = [](int) {
    if (requests.load() < study::stop_now) ++requests;
  };
  sigaction(SIGINT, &handler, nullptr);
  sigaction(SIGTERM, &handler, nullptr);
  return requests;
}

}  // namespace kasimir
