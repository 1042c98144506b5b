// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/bed/planted.h"

#include "kasimir/cosearch/bed/branches.h"
#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using testing::thrown_by;

TEST(BranchNet, SlopesByTheMixAreThoseOfItsOutput) {
  // Widths so fine that straight-through slopes are nearly exact.
  Rng rng(1);
  BranchNet net({22, 24}, rng);
  std::vector<double> inputs(12 * 4);
  for (double& x : inputs) x = 2 * rng.unit() - 1;
  const std::vector<double> mix{0.5, 0.5};
  const auto sum = [&](const std::vector<double>& m) {
    double total = 0;
    for (const double y : net.forward(inputs, m, false)) total += y;
    return total;
  };
  // The running maximum starts well above what follows, so that nothing is clipped.
  std::vector<double> large = inputs;
  for (double& x : large) x *= 3;
  net.forward(large, mix, false);
  constexpr double h = 1e-3;
  const double up = sum({0.5 + h, 0.5}), down = sum({0.5 - h, 0.5});
  sum(mix);
  const std::vector<double> by_mix = net.backward(std::vector<double>(4, 1));
  EXPECT_NEAR(by_mix[0], (up - down) / (2 * h), 0.002 * std::abs(by_mix[0]));
}

TEST(BranchNet, LearnsItsFunction) {
  const BranchTeacher teacher(1, 3);
  Rng rng(4);
  BranchNet net({8}, rng);
  const auto step = [&](double rate) {
    const BranchBatch batch = teacher.batch(32, rng);
    std::vector<double> error = net.forward(batch.inputs[0], {1}, true);
    double square = 0;
    for (std::size_t e = 0; e < error.size(); ++e) {
      error[e] -= batch.wanted[0][e];
      square += error[e] * error[e] / 32;
    }
    net.backward(error);
    net.descend(rate);
    return square;
  };
  double first = 0, last = 0;
  for (int i = 0; i < 20; ++i) first += step(0.01) / 20;
  for (int i = 0; i < 600; ++i) step(0.005);
  for (int i = 0; i < 20; ++i) last += step(0.001) / 20;
  EXPECT_LT(last, 0.2 * first);
}

TEST(PlantedBed, ThePlantedBitsAreTheBestOnesForTheObjective) {
  const PlantedOptions options{.warmup_steps = 50, .choice_steps = 150};
  const PlantedProblem problem = planted_problem(7, options);
  double squares = 0;
  for (std::size_t b = 0; b < 9; ++b) {
    squares += problem.amplitude[b] * problem.amplitude[b];
    EXPECT_GT(problem.error[b][0], problem.error[b][2]);
    for (std::size_t j = 0; j < 3; ++j) {
      std::vector<std::size_t> other = problem.best;
      other[b] = j;
      EXPECT_GE(problem.objective(other), problem.objective(problem.best) - 1e-12);
    }
  }
  EXPECT_NEAR(squares, 1, 1e-9);
}

TEST(PlantedBed, ColdHeterogeneousSamplingTiesWithTheOthersAndBeatsTheReleasedSettings) {
  const PlantedOptions options;
  const std::vector<SamplingMode> modes(sampling_modes().begin(), sampling_modes().end());
  const auto rows = run_planted_bed(modes, options);
  const auto mean = [](const std::vector<double>& values) {
    double sum = 0;
    for (const double value : values) sum += value / static_cast<double>(values.size());
    return sum;
  };
  const double heterogeneous = mean(rows[0].excess);
  EXPECT_LE(heterogeneous, mean(rows[1].excess) + 0.03);
  EXPECT_LE(heterogeneous, mean(rows[2].excess) + 0.03);
  EXPECT_LE(heterogeneous, mean(rows[3].excess) - 0.05);
  EXPECT_GT(rows[3].entropy, 1.08);  // its logits hardly move: ln 3 = 1.099
  const std::string text = str(rows, options);
  EXPECT_NE(text.find("heterogeneous"), std::string::npos);
}

TEST(PlantedBed, IsTheSameForTheSameSeed) {
  const PlantedOptions options{.warmup_steps = 20, .choice_steps = 40};
  const PlantedProblem problem = planted_problem(8, options);
  EXPECT_EQ(planted_problem(8, options).error, problem.error);
  const PlantedChoice choice = search_planted(problem, sampling_mode("soft"), options);
  EXPECT_EQ(search_planted(problem, sampling_mode("soft"), options).bits, choice.bits);
}

TEST(PlantedBed, RefusesNothingToRun) {
  EXPECT_EQ(thrown_by([] { return run_planted_bed({}, {}); }),
            "2: a bed of 0 modes, 5 seeds, 700 choice steps, batches of 32, needed: at least 1 of each");
}

}  // namespace
}  // namespace kasimir
