// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/cosearch.h"

#include "kasimir/cosearch/bed/tables.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>

namespace kasimir {
namespace {

using testing::thrown_by;

// A trainer without noise and without memory, so that runs can be broken off.
ChoiceTrainer exact_trainer(const TableProblem& problem) { return table_trainer(problem, 0, 1); }

CosearchOptions options_for(SharedElements& hardware, const TableProblem& problem) {
  CosearchOptions options;
  options.target = cost_quantile(hardware, problem.space, 0.1, nullptr, 1);
  options.warmup_steps = 20;
  options.choice_steps = 200;
  options.validate_every = 50;
  return options;
}

TEST(Cosearch, EndsWithNetworksWithinTheTargetBestFirst) {
  const TableProblem problem = table_problem(1, true);
  SharedElements hardware(problem);
  const CosearchOptions options = options_for(hardware, problem);
  const CosearchResult result = cosearch(exact_trainer(problem), hardware, options);
  ASSERT_EQ(result.finalists.size(), 8U);
  for (const Finalist& one : result.finalists) {
    EXPECT_LE(hardware.cost(one.design), options.target * (1 + 1e-9));
    EXPECT_DOUBLE_EQ(one.score, -sum_of(problem.error, one.design));
    EXPECT_LE(one.score, result.finalists.front().score);
    EXPECT_NE(result.state.archive.find(one.design), nullptr);
  }
  EXPECT_TRUE(result.finished);
  EXPECT_LE(-result.finalists.front().score, 1.1 * least_error(hardware, problem, options.target, nullptr));
}

TEST(Cosearch, IsTheSameForTheSameSeed) {
  const TableProblem problem = table_problem(2, false);
  SharedElements hardware(problem);
  CosearchOptions options = options_for(hardware, problem);
  const CosearchResult first = cosearch(exact_trainer(problem), hardware, options);
  const CosearchResult second = cosearch(exact_trainer(problem), hardware, options);
  EXPECT_EQ(first.state.logits, second.state.logits);
  options.seed = 2;
  EXPECT_NE(cosearch(exact_trainer(problem), hardware, options).state.logits, first.state.logits);
}

TEST(Cosearch, AsksOnceBetweenTheWarmUpAndTheFirstChoiceStep) {
  const TableProblem problem = table_problem(4, true);
  SharedElements hardware(problem);
  CosearchOptions options = options_for(hardware, problem);
  std::vector<std::string> heard;
  options.progress = [&](const CosearchProgress& p) {
    if (heard.empty() || heard.back() != p.phase) heard.emplace_back(p.phase);
  };
  options.warmed_up = [&] {
    heard.emplace_back("asked");
    return false;
  };
  const CosearchResult stopped = cosearch(exact_trainer(problem), hardware, options);
  EXPECT_FALSE(stopped.finished);
  EXPECT_EQ(stopped.state.weight_steps, options.warmup_steps);
  EXPECT_EQ(stopped.state.choice_steps, 0U);
  EXPECT_EQ(heard, (std::vector<std::string>{"warm-up", "asked", "validation"}));
  // What was broken off there asks again; what is beyond does not.
  heard.clear();
  options.warmed_up = [&] {
    heard.emplace_back("asked");
    return true;
  };
  const CosearchResult rest = cosearch(exact_trainer(problem), hardware, options, stopped.state);
  EXPECT_EQ(heard, (std::vector<std::string>{"asked", "search", "validation"}));
  heard.clear();
  cosearch(exact_trainer(problem), hardware, options, rest.state);
  EXPECT_EQ(heard, (std::vector<std::string>{"validation"}));
}

TEST(Cosearch, AResumedRunEndsLikeOneThatWasNotBrokenOff) {
  const TableProblem problem = table_problem(3, true);
  SharedElements hardware(problem);
  CosearchOptions options = options_for(hardware, problem);
  options.mode = sampling_mode("proxy");
  options.mode.rate = 0.02;
  const CosearchResult whole = cosearch(exact_trainer(problem), hardware, options);
  std::string saved;
  options.save_every = 70;
  options.save = [&](const CosearchState& state) { saved = state_text(state, problem.space); };
  options.should_stop = [&] { return !saved.empty(); };
  const CosearchResult part = cosearch(exact_trainer(problem), hardware, options);
  EXPECT_FALSE(part.finished);
  EXPECT_EQ(part.state.choice_steps, 70U);
  options.save_every = 0;
  options.should_stop = nullptr;
  const CosearchResult rest = cosearch(exact_trainer(problem), hardware, options, parse_state(saved, problem.space));
  EXPECT_EQ(rest.state.logits, whole.state.logits);
  EXPECT_EQ(rest.state.control, whole.state.control);
  ASSERT_EQ(rest.finalists.size(), whole.finalists.size());
  for (std::size_t i = 0; i < rest.finalists.size(); ++i)
    EXPECT_EQ(rest.finalists[i].design, whole.finalists[i].design);
}

TEST(Cosearch, KeepsChoicesThatAreFixed) {
  const TableProblem problem = table_problem(4, false);
  SharedElements hardware(problem);
  CosearchOptions options = options_for(hardware, problem);
  options.fixed.bits = std::vector<std::size_t>(6, 1);
  const CosearchResult result = cosearch(exact_trainer(problem), hardware, options);
  ASSERT_FALSE(result.finalists.empty());
  for (const Finalist& one : result.finalists)
    for (const BlockChoice& choice : one.design) EXPECT_EQ(choice.bits, 1U);
  EXPECT_EQ(parse_state(state_text(result.state, problem.space), problem.space).logits, result.state.logits);
}

TEST(Cosearch, CountsWhatItSpends) {
  const TableProblem problem = table_problem(5, false);
  SharedElements hardware(problem);
  CosearchOptions options = options_for(hardware, problem);
  options.validate_every = 0;
  ChoiceTrainer trainer = exact_trainer(problem);
  trainer.weight_step_cost = 10;
  trainer.choice_step_cost = 3;
  trainer.validation_cost = 100;
  const CosearchResult result = cosearch(trainer, hardware, options);
  EXPECT_DOUBLE_EQ(result.state.spent, (20 + 200) * 10.0 + 200 * 2 * 3.0 + 8 * 100.0);
}

TEST(Cosearch, TellsItsProgress) {
  const TableProblem problem = table_problem(6, false);
  SharedElements hardware(problem);
  CosearchOptions options = options_for(hardware, problem);
  std::vector<std::string> phases;
  std::size_t reports = 0;
  options.progress = [&](const CosearchProgress& progress) {
    ++reports;
    EXPECT_LE(progress.step, progress.steps);
    if (phases.empty() || phases.back() != progress.phase) phases.emplace_back(progress.phase);
  };
  cosearch(exact_trainer(problem), hardware, options);
  EXPECT_EQ(phases, (std::vector<std::string>{"warm-up", "search", "validation"}));
  EXPECT_EQ(reports, 20U + 200U + 8U);
}

TEST(Cosearch, HasNoFinalistsWhereNothingMeetsTheTarget) {
  const TableProblem problem = table_problem(7, false);
  SharedElements hardware(problem);
  CosearchOptions options = options_for(hardware, problem);
  options.target = 1;
  const CosearchResult result = cosearch(exact_trainer(problem), hardware, options);
  EXPECT_TRUE(result.finalists.empty());
  EXPECT_GT(result.likeliest_cost, 1);
}

TEST(Cosearch, RefusesWhatMakesNoSense) {
  const TableProblem problem = table_problem(8, false);
  SharedElements hardware(problem);
  CosearchOptions options = options_for(hardware, problem);
  const auto why = [&] { return thrown_by([&] { return cosearch(exact_trainer(problem), hardware, options); }); };
  options.target = 0;
  EXPECT_EQ(why(), "2: a target of 0, needed: a cost above 0");
  options.target = 1;
  options.look_every = 0;
  EXPECT_EQ(why(), "2: looks every 0 steps, needed: at least 1");
  options.look_every = 5;
  options.fixed.ops = std::vector<std::size_t>{1};
  EXPECT_EQ(why(), "2: 1 fixed choices, needed: one for each of 6 blocks");
}

TEST(CosearchState, SaysWhatIsWrongWithAState) {
  const TableProblem problem = table_problem(9, false);
  EXPECT_EQ(thrown_by([&] { return parse_state("{\"version\": 7}", problem.space); }),
            "2: the state of a search does not fit the space: a state of version 7, needed: 1\n  a state is what a "
            "search of the same space has written");
  EXPECT_TRUE(thrown_by([&] {
                return parse_state("{", problem.space);
              }).starts_with("2: the state of a search cannot be read: "));
}

TEST(SuitedForm, IsTheDualsWhereHardwareIsMadeAnewAndSeveralPartsMatter) {
  Accelerator accelerator;
  accelerator.duals = {0.6, 0.4};
  EXPECT_EQ(suited_form(accelerator, true), CostForm::duals);
  EXPECT_EQ(suited_form(accelerator, false), CostForm::smooth_max);
  accelerator.duals = {1, 0};
  EXPECT_EQ(suited_form(accelerator, true), CostForm::smooth_max);
}

}  // namespace
}  // namespace kasimir
