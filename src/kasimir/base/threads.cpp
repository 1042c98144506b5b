// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/threads.h"

#include <exception>
#include <thread>
#include <vector>

namespace kasimir {

void on_threads(std::size_t count, const std::function<void(std::size_t)>& work) {
  std::vector<std::exception_ptr> failures(count);
  const auto run = [&](std::size_t number) {
    try {
      work(number);
    } catch (...) {
      failures[number] = std::current_exception();
    }
  };
  {
    std::vector<std::jthread> others;
    for (std::size_t number = 1; number < count; ++number) others.emplace_back(run, number);
    if (count > 0) run(0);
  }
  for (const std::exception_ptr& failure : failures)
    if (failure) std::rethrow_exception(failure);
}

}  // namespace kasimir
