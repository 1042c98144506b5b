// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/sampling.h"

#include "support/thrown.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

using testing::thrown_by;

const ChoiceSpace space{{{"one", {"a", "b", "c"}}, {"two", {"a", "b"}}}, {2, 4, 8}};

ChoiceNumbers some_logits() {
  ChoiceNumbers logits = choice_numbers(space);
  logits.op = {{0.3, -0.5, 1}, {0.2, 0}};
  logits.bits[0] = {{0, 1, -1}, {0.4, 0, 0}, {0, 0, 2}};
  logits.bits[1] = {{-1, 0, 1}, {0, 0.5, 0}};
  return logits;
}

// Slopes as if every operator had been computed, with given numbers.
ChoiceSlopes all_slopes() {
  ChoiceSlopes slopes;
  slopes.op = {{0.7, -0.2, 0.4}, {0.1, 0.9}};
  slopes.bits = some_logits().bits;
  for (auto& block : slopes.bits)
    for (auto& row : block) row = {0.5, -0.3, 0.2};
  return slopes;
}

TEST(Sampling, HardDrawsFollowTheProbabilities) {
  const ChoiceNumbers logits = some_logits(), p = probabilities(logits);
  Rng rng(1);
  constexpr int draws = 20000;
  std::vector<double> ops(3, 0), bits(3, 0);
  for (int i = 0; i < draws; ++i) {
    const ChoiceDraw draw = draw_for_choices(sampling_mode("hard"), logits, 0.5, rng);
    const BlockSample& block = draw.sample.blocks[0];
    EXPECT_EQ(block.op_weight[block.active.front()], 1);
    ops[block.active.front()] += 1.0 / draws;
    for (std::size_t j = 0; j < 3; ++j) bits[j] += block.bit_weight[0][j] / draws;
  }
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_NEAR(ops[i], p.op[0][i], 0.02);
    EXPECT_NEAR(bits[i], p.bits[0][0][i], 0.02);
  }
}

TEST(Sampling, WeightStepsOfTheHeterogeneousModeMixBitsMoreAndMoreColdly) {
  const SamplingMode& mode = sampling_mode("heterogeneous");
  const auto mean_largest = [&](double progress) {
    Rng rng(2);
    double sum = 0;
    for (int i = 0; i < 2000; ++i) {
      const ChoiceDraw draw = draw_for_weights(mode, some_logits(), progress, rng);
      const BlockSample& block = draw.sample.blocks[0];
      EXPECT_EQ(block.active.size(), 1U);
      const std::vector<double>& row = block.bit_weight[block.active.front()];
      EXPECT_NEAR(std::accumulate(row.begin(), row.end(), 0.0), 1, 1e-9);
      sum += *std::max_element(row.begin(), row.end());
    }
    return sum / 2000;
  };
  EXPECT_LT(mean_largest(0), 0.85);
  EXPECT_GT(mean_largest(1), 0.95);
}

TEST(Sampling, TemperaturesFallExponentially) {
  EXPECT_DOUBLE_EQ((Temperature{1, 0.1}.at(0)), 1);
  EXPECT_NEAR((Temperature{1, 0.1}.at(0.5)), std::sqrt(0.1), 1e-12);
  EXPECT_DOUBLE_EQ((Temperature{1, 0.1}.at(1)), 0.1);
}

TEST(Sampling, TheReleasedTemperatureEndsWhereItsEpochsDo) {
  EXPECT_NEAR(sampling_mode("proxy").weight_temperature.end, 5 * std::pow(0.975, 120), 1e-4);
}

TEST(Sampling, TwoPathsGiveTheGradientOfAllInTheMean) {
  SamplingMode mode = sampling_mode("heterogeneous");
  const ChoiceNumbers logits = some_logits();
  const ChoiceSlopes slopes = all_slopes();
  mode.paths = 0;
  Rng rng(3);
  const ChoiceNumbers exact = slopes_by_logits(mode, logits, draw_for_choices(mode, logits, 0, rng), slopes);
  mode.paths = 2;
  ChoiceNumbers mean = zeros_like(logits);
  constexpr int draws = 40000;
  for (int i = 0; i < draws; ++i)
    add(mean, slopes_by_logits(mode, logits, draw_for_choices(mode, logits, 0, rng), slopes), 1.0 / draws);
  for (std::size_t l = 0; l < logits.op.size(); ++l)
    for (std::size_t o = 0; o < logits.op[l].size(); ++o) EXPECT_NEAR(mean.op[l][o], exact.op[l][o], 0.004);
}

TEST(Sampling, ThePlainRuleIsTheGradientOfTheMeanOverProbabilities) {
  const SamplingMode& mode = sampling_mode("hard");
  const ChoiceNumbers logits = some_logits();
  const ChoiceSlopes slopes = all_slopes();
  Rng rng(4);
  const ChoiceDraw draw = draw_for_choices(mode, logits, 0, rng);
  const ChoiceNumbers got = slopes_by_logits(mode, logits, draw, slopes);
  const std::size_t op = draw.sample.blocks[0].active.front();
  const auto mean = [&](const ChoiceNumbers& at) {
    double sum = 0;
    for (std::size_t j = 0; j < 3; ++j) sum += probabilities(at).bits[0][op][j] * slopes.bits[0][op][j];
    return sum;
  };
  constexpr double h = 1e-5;
  for (std::size_t j = 0; j < 3; ++j) {
    ChoiceNumbers up = logits, down = logits;
    up.bits[0][op][j] += h;
    down.bits[0][op][j] -= h;
    EXPECT_NEAR(got.bits[0][op][j], (mean(up) - mean(down)) / (2 * h), 1e-8);
  }
}

TEST(Sampling, TheTemperedRuleIsTheGradientThroughTheNoisySoftmax) {
  const SamplingMode& mode = sampling_mode("soft");
  const ChoiceNumbers logits = some_logits();
  const ChoiceSlopes slopes = all_slopes();
  const auto draw_at = [&](const ChoiceNumbers& at) {
    Rng rng(5);
    return draw_for_choices(mode, at, 0.6, rng);
  };
  const ChoiceDraw draw = draw_at(logits);
  const std::size_t op = draw.sample.blocks[1].active.front();
  const auto mixed = [&](const ChoiceNumbers& at) {
    double sum = 0;
    for (std::size_t j = 0; j < 3; ++j) sum += draw_at(at).sample.blocks[1].bit_weight[op][j] * slopes.bits[1][op][j];
    return sum;
  };
  const ChoiceNumbers got = slopes_by_logits(mode, logits, draw, slopes);
  constexpr double h = 1e-5;
  for (std::size_t j = 0; j < 3; ++j) {
    ChoiceNumbers up = logits, down = logits;
    up.bits[1][op][j] += h;
    down.bits[1][op][j] -= h;
    EXPECT_NEAR(got.bits[1][op][j], (mixed(up) - mixed(down)) / (2 * h), 1e-7);
  }
}

TEST(Sampling, TheOffsetRuleKeepsProbabilitiesOfWhatWasNotDrawn) {
  const SamplingMode& mode = sampling_mode("proxy");
  const ChoiceNumbers before = some_logits();
  Rng rng(6);
  const ChoiceDraw draw = draw_for_choices(mode, before, 0, rng);
  ChoiceNumbers after = before;
  for (const std::size_t o : draw.sample.blocks[0].active) after.op[0][o] += o == 0 ? 0.8 : -0.3;
  keep_probabilities_of_others(draw, before, after);
  const ChoiceNumbers p = probabilities(before), q = probabilities(after);
  for (std::size_t o = 0; o < 3; ++o) {
    const auto& active = draw.sample.blocks[0].active;
    if (std::find(active.begin(), active.end(), o) == active.end()) {
      EXPECT_NEAR(p.op[0][o], q.op[0][o], 1e-12);
    } else {
      EXPECT_GT(std::abs(p.op[0][o] - q.op[0][o]), 1e-3);
    }
  }
}

TEST(Sampling, OperatorsThatAreNotComputedGetNoSlopeForTheirBits) {
  const SamplingMode& mode = sampling_mode("heterogeneous");
  Rng rng(7);
  const ChoiceDraw draw = draw_for_choices(mode, some_logits(), 0, rng);
  const ChoiceNumbers got = slopes_by_logits(mode, some_logits(), draw, all_slopes());
  const auto& active = draw.sample.blocks[0].active;
  ASSERT_EQ(active.size(), 2U);
  for (std::size_t o = 0; o < 3; ++o)
    if (std::find(active.begin(), active.end(), o) == active.end()) {
      EXPECT_EQ(got.bits[0][o], (std::vector<double>{0, 0, 0}));
    }
}

TEST(Sampling, AdamsFirstStepIsTheRateAgainstTheSign) {
  ChoiceAdam adam(space);
  ChoiceNumbers logits = choice_numbers(space), slopes = choice_numbers(space);
  slopes.op[0] = {3, -0.01, 0};
  adam.descend(logits, slopes, 0.025);
  EXPECT_NEAR(logits.op[0][0], -0.025, 1e-6);
  EXPECT_NEAR(logits.op[0][1], 0.025, 1e-6);
  EXPECT_EQ(logits.op[0][2], 0);
}

TEST(Sampling, NamesTheKnownModes) {
  EXPECT_EQ(thrown_by([] { return sampling_mode("sotf"); }), "2: unknown sampling mode `sotf`\n  did you mean `soft`?");
}

}  // namespace
}  // namespace kasimir
