// SPDX-License-Identifier: Apache-2.0
#include "kasimir/data/parallel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <set>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace kasimir {
namespace {

/// How often each index was visited; threads write apart from each other.
std::vector<int> visits(std::int64_t count, int threads) {
  std::vector<int> result(static_cast<std::size_t>(count));
  for_each_index(count, threads, [&](std::int64_t i) { ++result[static_cast<std::size_t>(i)]; }, nullptr);
  return result;
}

TEST(Parallel, VisitsEachIndexOnce) {
  for (const int threads : {1, 2, 3, 8, 1000}) {
    for (const int count : {0, 1, 15, 16, 33, 1000})
      EXPECT_EQ(visits(count, threads), std::vector<int>(static_cast<std::size_t>(count), 1)) << threads << " threads";
  }
}

/// What comes out when `lowest` and every third index after it fail with their number.
std::string thrown_number(int lowest, int threads) {
  const auto body = [&](std::int64_t i) {
    if (i >= lowest && i % 3 == lowest % 3) throw std::runtime_error(std::to_string(i));
  };
  try {
    for_each_index(1000, threads, body, nullptr);
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "nothing thrown";
}

TEST(Parallel, ThrowsTheFailureOfTheLowestIndex) {
  for (const int threads : {1, 2, 5}) {
    for (const int lowest : {0, 9, 499, 500, 777})
      EXPECT_EQ(thrown_number(lowest, threads), std::to_string(lowest)) << threads << " threads";
  }
}

void do_nothing(std::int64_t) {}

TEST(Parallel, ReportsFromTheCallingThreadAndEndsWithTheTotal) {
  std::vector<std::int64_t> reports;
  std::set<std::thread::id> callers;
  const auto report = [&](std::int64_t done) {
    reports.push_back(done);
    callers.insert(std::this_thread::get_id());
  };
  for_each_index(2000, 2, do_nothing, report);
  EXPECT_GE(reports.size(), 4U);
  EXPECT_TRUE(std::is_sorted(reports.begin(), reports.end()));
  EXPECT_EQ(reports.back(), 2000);
  EXPECT_EQ(callers, std::set<std::thread::id>{std::this_thread::get_id()});
}

TEST(Parallel, StopsWhenTheReportThrows) {
  std::int64_t reported = 0;
  const auto report = [&](std::int64_t done) {
    reported = done;
    throw std::runtime_error("enough");
  };
  EXPECT_THROW(for_each_index(2000, 1, do_nothing, report), std::runtime_error);
  EXPECT_EQ(reported, 256);
}

}  // namespace
}  // namespace kasimir
