// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/baselines.h"

#include "kasimir/cosearch/archive.h"
#include "kasimir/cosearch/bed/tables.h"
#include "kasimir/cosearch/headroom.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using testing::thrown_by;

MethodOptions some_options(SharedElements& hardware, const TableProblem& problem) {
  MethodOptions options;
  options.search.target = cost_quantile(hardware, problem.space, 0.1, nullptr, 1);
  options.search.warmup_steps = 50;
  options.search.choice_steps = 400;
  return options;
}

TrainerFactory factory_for(const TableProblem& problem) {
  return [&problem](std::uint64_t seed) {
    ChoiceTrainer trainer = table_trainer(problem, 0.05, seed);
    trainer.weight_step_cost = 3;
    trainer.choice_step_cost = 2;
    trainer.validation_cost = 20;
    return trainer;
  };
}

TEST(Baselines, NoMethodSpendsMoreThanTheJointSearch) {
  const TableProblem problem = table_problem(1, true);
  SharedElements hardware(problem);
  const MethodOptions options = some_options(hardware, problem);
  const TrainerFactory factory = factory_for(problem);
  const double budget = budget_of(options.search, factory(1));
  EXPECT_DOUBLE_EQ(budget, 450 * 3 + 400 * 2 * 2 + 8 * 20);
  for (const SearchMethod method : search_methods()) {
    SCOPED_TRACE(name_of(method));
    const MethodResult result = run_method(method, factory, hardware, options);
    EXPECT_LE(result.spent, budget);
    EXPECT_GE(result.spent, 0.5 * budget);
    EXPECT_LE(result.finalists.size(), options.search.decode.best);
    for (const Finalist& one : result.finalists) {
      EXPECT_LE(hardware.cost(one.design), options.search.target * (1 + 1e-9));
      EXPECT_LE(one.score, result.finalists.front().score);
    }
  }
}

TEST(Baselines, KeepWhatTheyDoNotSearch) {
  const TableProblem problem = table_problem(2, true);
  SharedElements hardware(problem);
  MethodOptions options = some_options(hardware, problem);
  options.search.target *= 3;
  const TrainerFactory factory = factory_for(problem);
  const MethodResult ops = run_method(SearchMethod::operators_only, factory, hardware, options);
  ASSERT_FALSE(ops.archive.entries().empty());
  for (const ArchiveEntry& entry : ops.archive.entries())
    for (const BlockChoice& choice : entry.design) EXPECT_EQ(problem.space.bits[choice.bits], 8);
  const MethodResult bits = run_method(SearchMethod::bits_only, factory, hardware, options);
  ASSERT_FALSE(bits.archive.entries().empty());
  for (const ArchiveEntry& entry : bits.archive.entries())
    for (const BlockChoice& choice : entry.design) EXPECT_EQ(choice.op, 2U);
  const MethodResult uniform = run_method(SearchMethod::accelerator_only, factory, hardware, options);
  ASSERT_FALSE(uniform.archive.entries().empty());
  for (const ArchiveEntry& entry : uniform.archive.entries())
    for (const BlockChoice& choice : entry.design) EXPECT_EQ(choice, entry.design.front());
}

TEST(Baselines, TheJointSearchIsNotBehindAnyOfThemOnTables) {
  const TableProblem problem = table_problem(3, true);
  SharedElements hardware(problem);
  const MethodOptions options = some_options(hardware, problem);
  const double least = options.search.target;
  const double reference_score = -2 * least_error(hardware, problem, least, nullptr);
  const TrainerFactory factory = factory_for(problem);
  /// The mean over seeds of the hypervolume of the finalists for three targets.
  const auto volume_of = [&](SearchMethod method) {
    double sum = 0;
    for (const std::uint64_t seed : {1, 2, 3}) {
      std::vector<ArchiveEntry> finalists;
      for (const double target : {least, 1.5 * least, 2 * least}) {
        MethodOptions one = options;
        one.search.target = target;
        one.search.seed = seed;
        const MethodResult result = run_method(method, factory, hardware, one);
        EXPECT_TRUE(method != SearchMethod::joint || !result.finalists.empty()) << "seed " << seed;
        for (const Finalist& found : result.finalists) finalists.push_back({found.design, found.score, found.cost, 0});
      }
      sum += hypervolume(finalists, reference_score, 4 * least);
    }
    return sum / 3;
  };
  const double joint = volume_of(SearchMethod::joint);
  EXPECT_GT(joint, 0);
  for (const SearchMethod method : search_methods()) {
    if (method == SearchMethod::joint) continue;
    SCOPED_TRACE(name_of(method));
    EXPECT_GE(joint, 0.99 * volume_of(method));
  }
}

TEST(Baselines, SayWhatIsMissing) {
  const TableProblem problem = table_problem(4, false);
  SharedElements hardware(problem);
  MethodOptions options = some_options(hardware, problem);
  const TrainerFactory factory = factory_for(problem);
  options.multiples.clear();
  EXPECT_EQ(thrown_by([&] { return run_method(SearchMethod::sequential, factory, hardware, options).spent; }),
            "2: a sequential search without first targets, needed: at least one");
  EXPECT_EQ(thrown_by([] { return parse_search_method("jont"); }),
            "2: unknown way to search `jont`\n  did you mean `joint`?");
}

TEST(Headroom, TheJointOptimumIsTheEnumeratedOneAndNothingBeatsIt) {
  for (std::uint64_t seed = 1; seed <= 6; ++seed) {
    SCOPED_TRACE(fmt::format("seed {}", seed));
    const TableProblem problem = table_problem(seed, seed % 2 == 0);
    SharedElements hardware(problem);
    const double target = cost_quantile(hardware, problem.space, 0.1, nullptr, 1);
    const Headroom room = headroom(hardware, problem.error, target);
    ASSERT_TRUE(room.found);
    const double optimum = least_error(hardware, problem, target, nullptr);
    EXPECT_GE(room.error, optimum - 1e-12);
    EXPECT_LE(room.error, optimum * (room.exact ? 1 + 1e-9 : 1.02));
    ASSERT_EQ(room.ways.size(), 8U);
    double swept = std::numeric_limits<double>::infinity();
    for (std::size_t i = 0; i < room.ways.size(); ++i) {
      if (!room.ways[i].found) continue;
      EXPECT_GE(room.ways[i].error, optimum * (1 - 1e-9));
      if (i < 6) swept = std::min(swept, room.ways[i].excess);
    }
    EXPECT_EQ(room.swept_excess, swept);
  }
}

TEST(Headroom, PrintsEachWay) {
  const TableProblem problem = table_problem(1, true);
  SharedElements hardware(problem);
  const Headroom room = headroom(hardware, problem.error, cost_quantile(hardware, problem.space, 0.3, nullptr, 1));
  const std::string text = str(room);
  EXPECT_NE(text.find("sequential, first target x 2.5"), std::string::npos);
  EXPECT_NE(text.find("operators only"), std::string::npos);
  EXPECT_EQ(str(headroom(hardware, problem.error, 1)), "no network of the space meets the target\n");
}

TEST(Headroom, MeasuresErrorsThatAddUp) {
  const TableProblem problem = table_problem(2, false);
  const ChoiceTrainer trainer = table_trainer(problem, 0, 1);
  const ChoiceDesign reference(6, {2, 2});
  const auto errors = measured_errors(problem.space, trainer, reference);
  ASSERT_TRUE(errors);
  const ChoiceDesign other{{0, 1}, {2, 2}, {1, 0}, {2, 1}, {0, 0}, {2, 2}};
  EXPECT_NEAR(sum_of(*errors, other), 1 - trainer.validate(other), 1e-12);
  EXPECT_NEAR(sum_of(*errors, reference), 1 - trainer.validate(reference), 1e-12);
}

TEST(Headroom, StopsMeasuringWhereItIsAskedTo) {
  const TableProblem problem = table_problem(2, false);
  const ChoiceTrainer trainer = table_trainer(problem, 0, 1);
  std::vector<std::size_t> seen;
  const auto until = [&](std::size_t last) {
    seen.clear();
    return measured_errors(problem.space, trainer, ChoiceDesign(6, {2, 2}),
                           [&, last](std::size_t done, std::size_t of) {
                             EXPECT_EQ(of, 6 * 8 + 1U);
                             seen.push_back(done);
                             return done < last;
                           });
  };
  EXPECT_FALSE(until(3));
  EXPECT_EQ(seen, (std::vector<std::size_t>{1, 2, 3}));
  EXPECT_TRUE(until(50));
  EXPECT_EQ(seen.size(), 49U);
}

}  // namespace
}  // namespace kasimir
