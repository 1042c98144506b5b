// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/budget.h"

#include "support/thrown.h"

#include <gtest/gtest.h>

namespace kasimir {
namespace {

constexpr double none = std::numeric_limits<double>::infinity();

TEST(Budget, ReadsFractionsAndAbsoluteNumbers) {
  const Budget budget = Budget::parse("macs=0.1..0.5,params=..200k");
  EXPECT_EQ(budget.macs, (Limit{0.1, 0.5, true}));
  EXPECT_EQ(budget.params, (Limit{0.0, 200e3, false}));
}

TEST(Budget, LeavesWhatIsNotNamedAtItsDefault) {
  const Budget budget = Budget::parse("params= 0.2 .. ");
  EXPECT_EQ(budget.macs, (Limit{0.0, 1.0, true}));
  EXPECT_EQ(budget.params, (Limit{0.2, none, true}));
  EXPECT_EQ(Budget::parse("macs=..").macs, (Limit{0.0, none, true}));
}

TEST(Budget, LimitsBytesOnlyIfAsked) {
  EXPECT_FALSE(Budget().bytes.given());
  const Budget budget = Budget::parse("bytes=0.5..3");
  EXPECT_EQ(budget.bytes, (Limit{0.5, 3.0, true}));
  EXPECT_TRUE(budget.bytes.given());
  EXPECT_EQ(budget[CostKind::bytes], budget.bytes);
  EXPECT_EQ(budget[CostKind::macs], budget.macs);
  EXPECT_EQ(budget[CostKind::params], budget.params);
  EXPECT_EQ(Budget::parse("bytes=.."), Budget());
}

TEST(Budget, LimitsLatencyOnlyIfAsked) {
  EXPECT_FALSE(Budget().latency.given());
  EXPECT_EQ(Budget::parse("latency=..0.6").latency, (Limit{0.0, 0.6, true}));
}

TEST(Budget, LimitsNothingWhereNoneIsAsked) {
  const Budget budget = Budget::parse("none");
  for (const Limit& limit : {budget.macs, budget.params, budget.bytes, budget.latency, budget.accelerator})
    EXPECT_FALSE(limit.given());
  EXPECT_EQ(Budget::parse(budget.str()), budget);
}

TEST(Budget, LimitsTheAcceleratorOnlyIfAsked) {
  EXPECT_FALSE(Budget().accelerator.given());
  const Budget budget = Budget::parse("accelerator=0.1..0.6");
  EXPECT_EQ(budget.accelerator, (Limit{0.1, 0.6, true}));
  EXPECT_FALSE(budget.latency.given());
}

TEST(Budget, KnowsTheUnits) {
  EXPECT_EQ(Budget::parse("macs=1k..2M").macs, (Limit{1e3, 2e6, false}));
  EXPECT_EQ(Budget::parse("macs=0.5G..").macs, (Limit{5e8, none, false}));
}

TEST(Budget, PrintsWhatItReads) {
  EXPECT_EQ(Budget().str(), "macs=..1,params=..1");
  for (const char* text :
       {"macs=0.1..0.5,params=..200k", "macs=..1,params=0.25..", "macs=1.5M..2G,params=..1", "macs=..,params=..0.001",
        "macs=..0.5k,params=1k..1.25k", "macs=..1,params=..1,bytes=..2", "macs=..1,params=..1,bytes=1M..2M",
        "macs=..1,params=..1,latency=..0.6", "macs=..1,params=..1,latency=0.1..0.6,accelerator=..0.5"}) {
    EXPECT_EQ(Budget::parse(text).str(), text);
    EXPECT_EQ(Budget::parse(Budget::parse(text).str()), Budget::parse(text));
  }
}

struct Wrong {
  const char* text;
  std::string message;
};

void PrintTo(const Wrong& wrong, std::ostream* out) { *out << wrong.text; }

const std::string form =
    "\n  a budget reads macs=LOW..HIGH,params=LOW..HIGH,bytes=LOW..HIGH: fractions of what is replaced such as "
    "macs=0.1..0.5, or absolute numbers such as params=..200k; and latency=LOW..HIGH or "
    "accelerator=LOW..HIGH, fractions of the network's";

const Wrong wrong[] = {
    {"macs", "2: the budget `macs` has no `=`" + form},
    {"", "2: the budget `` has no `=`" + form},
    {"macs=..1,", "2: the budget `` has no `=`" + form},
    {"mac=..1", "2: the budget knows no `mac`, did you mean `macs`?" + form},
    {"flops=..1", "2: the budget knows no `flops`, known: macs, params, bytes, latency, accelerator" + form},
    {"macs=0.5", "2: the budget `macs=0.5` has no range" + form},
    {"macs=a..1", "2: the budget `macs=a..1` has no number where `a` stands" + form},
    {"macs=-0.1..1", "2: the budget `macs=-0.1..1` has no number where `-0.1` stands" + form},
    {"macs=..k", "2: the budget `macs=..k` has no number where `` stands" + form},
    {"macs=..1m", "2: the budget `macs=..1m` has no number where `1m` stands" + form},
    {"macs=0.1..5k", "2: the budget `macs=0.1..5k` mixes a fraction with an absolute number" + form},
    {"latency=..2k",
     "2: the budget `latency=..2k` is an absolute number; latency is a fraction of the original network's" + form},
    {"macs=..1,macs=..2", "2: the budget `macs=..1,macs=..2` gives macs twice"},
    {"macs=0.5..0.1", "2: the budget `macs=0.5..0.1` is empty: its lower bound is above its upper bound"},
};

class BudgetError : public ::testing::TestWithParam<Wrong> {};

TEST_P(BudgetError, SaysWhatIsUnderstood) {
  EXPECT_EQ(testing::thrown_by([] { return Budget::parse(GetParam().text); }), GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(Budget, BudgetError, ::testing::ValuesIn(wrong));

}  // namespace
}  // namespace kasimir
