// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/near_miss.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kasimir {
namespace {

TEST(NearMiss, ComparesWhatWasReachedWithTheBoundOfTheRule) {
  EXPECT_DOUBLE_EQ(miss_factor("budget: macs at most 0.5", "0.6 at Ci=64 Co=64 H=8 W=8 s=1"), 1.2);
  EXPECT_DOUBLE_EQ(miss_factor("budget: macs at least 0.5", "0.25 at Ci=64"), 2.0);
  EXPECT_DOUBLE_EQ(miss_factor("budget: params at most 200k", "0.3M"), 1.5);
  EXPECT_DOUBLE_EQ(miss_factor("budget: macs at most 1.5G", "3G"), 2.0);
}

TEST(NearMiss, ReadsAnExplanationThatRepeatsTheRule) {
  EXPECT_DOUBLE_EQ(miss_factor("budget: macs at most 1M", "budget: macs at most 1M (2.5M)"), 2.5);
  EXPECT_DOUBLE_EQ(miss_factor("latency: at most 0.6", "latency: at most 0.6 (0.9, predicted)"), 1.5);
}

TEST(NearMiss, IsInfiniteWithoutNumbers) {
  for (const auto& [rule, explanation] :
       std::vector<std::pair<std::string, std::string>>{{"every step is used", "in `a = relu(x)`"},
                                                        {"budget: macs at most 0.5", ""},
                                                        {"budget: macs at most 0.5", "none"},
                                                        {"budget: macs at least 0", "0.1"},
                                                        {"", ""}})
    EXPECT_TRUE(std::isinf(miss_factor(rule, explanation))) << rule << ": " << explanation;
}

TEST(NearMiss, KeepsTheNearestOrTheFirst) {
  const auto kept = [](std::string_view rule, std::initializer_list<std::string_view> all) {
    std::string nearest;
    for (const std::string_view one : all) keep_nearest(nearest, rule, one);
    return nearest;
  };
  EXPECT_EQ(kept("budget: macs at most 0.5", {"0.9 at a", "0.51 at b", "0.51 at c", "0.7 at d"}), "0.51 at b");
  EXPECT_EQ(kept("budget: macs at least 0.1", {"0.01 at a", "0.09 at b", "0.05 at c"}), "0.09 at b");
  EXPECT_EQ(kept("every step is used", {"", "in a", "in b"}), "in a");
  EXPECT_EQ(kept("budget: macs at most 0.5", {"unknown", "0.6"}), "0.6");
}

}  // namespace
}  // namespace kasimir
