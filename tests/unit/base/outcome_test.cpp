// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/outcome.h"

#include "support/thrown.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <memory>

namespace kasimir {
namespace {

Outcome<int> half(int n) {
  if (n % 2 != 0) return Rejection{"number is even", fmt::format("{}", n)};
  return n / 2;
}

TEST(Outcome, HoldsAValue) {
  const Outcome<int> outcome = half(8);
  ASSERT_TRUE(outcome.ok());
  EXPECT_TRUE(static_cast<bool>(outcome));
  EXPECT_EQ(*outcome, 4);
  EXPECT_EQ(outcome.value(), 4);
}

TEST(Outcome, HoldsTheReasonWhyThereIsNoValue) {
  const Outcome<int> outcome = half(7);
  ASSERT_FALSE(outcome.ok());
  EXPECT_EQ(outcome.rejection(), (Rejection{"number is even", "7"}));
}

TEST(Outcome, GivesItsValueAway) {
  Outcome<std::unique_ptr<int>> outcome = std::make_unique<int>(5);
  const std::unique_ptr<int> taken = *std::move(outcome);
  EXPECT_EQ(*taken, 5);
}

TEST(Outcome, ReachesIntoItsValue) {
  Outcome<std::string> outcome = std::string("abc");
  outcome->push_back('d');
  EXPECT_EQ(*outcome, "abcd");
}

TEST(Outcome, FailsACheckWhereThereIsNoValue) {
  EXPECT_THAT(testing::thrown_by([] { return half(7).value(); }),
              ::testing::StartsWith("70: internal error: no value: number is even (7) (ok())\n"));
}

TEST(Outcome, FailsACheckWhereNothingWasRejected) {
  EXPECT_THAT(testing::thrown_by([] { return half(8).rejection(); }),
              ::testing::StartsWith("70: internal error: nothing was rejected (!ok())\n"));
}

TEST(Rejection, SaysTheRuleAndWhatBrokeIt) {
  EXPECT_EQ((Rejection{"size is whole", "Ci/3 = 64/3"}.str()), "size is whole (Ci/3 = 64/3)");
  EXPECT_EQ((Rejection{"graph is empty", ""}.str()), "graph is empty");
}

}  // namespace
}  // namespace kasimir
