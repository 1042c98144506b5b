// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/ladder_config.h"

#include "kasimir/base/error.h"

#include <gtest/gtest.h>

namespace kasimir::study {
namespace {

std::string error_of(const Json& json) {
  try {
    LadderConfig::from_json(json);
  } catch (const Error& error) {
    EXPECT_EQ(error.fault(), Fault::input);
    return error.what();
  }
  return "no error";
}

TEST(LadderConfig, ReadsWhatItWrites) {
  LadderConfig c;
  c.trials = 12;
  c.time_limit_s = 90.5;
  c.workers = 3;
  c.promote = 0.25;
  c.finalists = 5;
  c.finalist_seeds = 4;
  c.rung_cost = {2, 5, 60};
  c.latency_s = 3;
  c.explore_min = 0.5;
  c.give_up_after = 77;
  c.max_lost = 9;
  c.stop_below = 0.02;
  c.original_first = true;
  EXPECT_EQ(LadderConfig::from_json(Json::parse(c.to_json().dump())), c);
}

TEST(LadderConfig, TakesDefaultsForWhatIsNotGiven) {
  LadderConfig wanted;
  wanted.trials = 7;
  EXPECT_EQ(LadderConfig::from_json({{"trials", 7}}), wanted);
}

TEST(LadderConfig, NamesTheBadKey) {
  EXPECT_EQ(error_of({{"trials", 7}, {"latency", 2}}), "unknown key ladder.latency\n  did you mean `latency_s`?");
  EXPECT_EQ(error_of({{"trials", 7}, {"promote", 1.5}}), "ladder.promote is 1.5, but must be a number from 0 to 1");
  EXPECT_EQ(error_of({{"trials", "many"}}),
            "ladder.trials is \"many\", but must be a whole number from 0 to 1000000000");
  EXPECT_EQ(error_of({{"trials", 7}, {"finalists", 0}}),
            "ladder.finalists is 0, but must be a whole number from 1 to 1000000");
  EXPECT_EQ(error_of({{"trials", 7}, {"rung_cost", {1, 2}}}),
            "ladder.rung_cost is [1,2], but must be three numbers above 0");
  EXPECT_EQ(error_of({{"trials", 7}, {"original_first", 1}}), "ladder.original_first is 1, but must be true or false");
  EXPECT_EQ(error_of(Json::array()), "ladder is [], but must be an object");
}

TEST(LadderConfig, WantsAnEnd) {
  EXPECT_EQ(error_of(Json::object()), "a search needs an end: give a number of trials, a time limit, or both");
}

TEST(SpecDifferences, NamesKeysWithBothValuesAndLeavesOutResumableOnes) {
  const Json stored = {{"network", "resnet8"}, {"seed", 1}, {"ladder", {{"trials", 20}, {"promote", 0.5}}}, {"old", 1}};
  const Json asked = {
      {"network", "resnet20"}, {"seed", 1}, {"ladder", {{"trials", 40}, {"promote", 0.25}}}, {"new", {2}}};
  EXPECT_EQ(spec_differences(stored, asked),
            (std::vector<std::string>{"ladder.promote: 0.5 in the study, 0.25 asked",
                                      "network: resnet8 in the study, resnet20 asked",
                                      "new: nothing in the study, [2] asked", "old: 1 in the study, nothing asked"}));
  EXPECT_EQ(spec_differences(stored, stored), std::vector<std::string>{});
}

}  // namespace
}  // namespace kasimir::study
