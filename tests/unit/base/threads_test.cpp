// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/threads.h"

#include <gtest/gtest.h>

#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace kasimir {
namespace {

TEST(Threads, EachNumberHasAThreadOfItsOwnAndTheCallerTakesTheFirst) {
  std::vector<std::thread::id> ids(4);
  on_threads(ids.size(), [&](std::size_t number) { ids[number] = std::this_thread::get_id(); });
  EXPECT_EQ(ids[0], std::this_thread::get_id());
  EXPECT_EQ(std::set(ids.begin(), ids.end()).size(), ids.size());
  on_threads(0, [](std::size_t) { FAIL() << "there is nothing to do"; });
}

TEST(Threads, TheFailureOfTheLowestNumberIsThrownWhenAllHaveEnded) {
  std::vector<int> ended(5, 0);
  try {
    on_threads(ended.size(), [&](std::size_t number) {
      ended[number] = 1;
      if (number == 2 || number == 4) throw std::runtime_error(std::to_string(number));
    });
    FAIL() << "nothing was thrown";
  } catch (const std::runtime_error& failure) {
    EXPECT_STREQ(failure.what(), "2");
  }
  EXPECT_EQ(ended, std::vector<int>(5, 1));
}

}  // namespace
}  // namespace kasimir
