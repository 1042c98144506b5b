// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/cost_form.h"

#include "support/thrown.h"

#include <gtest/gtest.h>

#include <cmath>

namespace kasimir {
namespace {

using testing::thrown_by;

const ChoiceSpace space{{{"one", {"a", "b"}}, {"two", {"a", "b"}}}, {4, 8}};

Accelerator some_accelerator(Aggregate aggregate) {
  Accelerator result{load_table(space, aggregate, {"x", "y"}), {0.7, 0.3}, "", {}};
  result.loads.base = {0.5, 0.25};
  double load = 1;
  for (auto& block : result.loads.loads)
    for (auto& op : block)
      for (auto& loads : op) {
        loads = {{0, load}, {1, 3 / load}};
        load *= 1.3;
      }
  return result;
}

ChoiceNumbers some_logits() {
  ChoiceNumbers logits = choice_numbers(space);
  logits.op = {{0.4, -0.1}, {0, 0.9}};
  logits.bits[0] = {{0, 1}, {-0.5, 0.2}};
  logits.bits[1] = {{0.3, 0}, {0, -1}};
  return logits;
}

TEST(CostForm, SlopesAreThoseOfTheMeanCost) {
  for (const Aggregate aggregate : {Aggregate::max, Aggregate::sum, Aggregate::product})
    for (const CostForm form : {CostForm::smooth_max, CostForm::duals, CostForm::sum}) {
      const Accelerator accelerator = some_accelerator(aggregate);
      const auto cost = [&](const ChoiceNumbers& at) { return mean_cost(form, accelerator, at, 4, 0.1).cost; };
      const MeanCost mean = mean_cost(form, accelerator, some_logits(), 4, 0.1);
      constexpr double h = 1e-6;
      for (std::size_t l = 0; l < 2; ++l)
        for (std::size_t o = 0; o < 2; ++o) {
          ChoiceNumbers up = some_logits(), down = some_logits();
          up.op[l][o] += h;
          down.op[l][o] -= h;
          EXPECT_NEAR(mean.slopes.op[l][o], (cost(up) - cost(down)) / (2 * h), 1e-7) << name_of(form);
          up = down = some_logits();
          up.bits[l][o][1] += h;
          down.bits[l][o][1] -= h;
          EXPECT_NEAR(mean.slopes.bits[l][o][1], (cost(up) - cost(down)) / (2 * h), 1e-7) << name_of(form);
        }
    }
}

TEST(CostForm, TheSmoothMaximumComesCloseToTheLargestLoad) {
  const Accelerator accelerator = some_accelerator(Aggregate::max);
  const double largest = joined(Aggregate::max, mean_loads(accelerator.loads, probabilities(some_logits())));
  const double smooth = mean_cost(CostForm::smooth_max, accelerator, some_logits(), 4, 0.1).cost;
  EXPECT_GE(smooth, largest / 4);
  EXPECT_LE(smooth, largest / 4 + 0.1 * std::log(2.0) + 1e-12);
}

TEST(CostForm, CertainChoicesCostWhatTheTableSays) {
  const Accelerator accelerator = some_accelerator(Aggregate::product);
  ChoiceNumbers logits = choice_numbers(space);
  for (auto& row : logits.op) row = {0, 60};
  for (auto& block : logits.bits)
    for (auto& row : block) row = {60, 0};
  EXPECT_NEAR(mean_cost(CostForm::smooth_max, accelerator, logits, 1).cost,
              cost_of(accelerator.loads, {{1, 0}, {1, 0}}), 1e-9);
}

TEST(CostForm, TheOriginalPushesTheDrawnLogitsByTheCostWhateverTheirProbability) {
  const Accelerator accelerator = some_accelerator(Aggregate::max);
  ChoiceDraw draw;
  for (int l = 0; l < 2; ++l) {
    BlockSample block;
    block.active = {1, 0};
    draw.sample.blocks.push_back(block);
    draw.drawn_bits.push_back({{0, 1}, {1, 0}});
  }
  const MeanCost cost = original_cost(accelerator, draw, some_logits(), 2);
  const auto& drawn = accelerator.loads.loads[0][1][1];
  EXPECT_DOUBLE_EQ(cost.slopes.op[0][1], (drawn[0].load + drawn[1].load) / 2);
  EXPECT_DOUBLE_EQ(cost.slopes.bits[0][1][1], cost.slopes.op[0][1]);
  EXPECT_EQ(cost.slopes.op[0][0], 0);
  EXPECT_EQ(cost.slopes.bits[0][1][0], 0);
}

TEST(TargetControl, TheLagrangianSettlesWhereTheTargetIsMet) {
  TargetControl control({});
  EXPECT_EQ(control.weight(0.5), 0);
  for (int i = 0; i < 10; ++i) control.update(2, 2);
  EXPECT_NEAR(control.state(), std::log(2.0), 1e-12);
  EXPECT_NEAR(control.weight(1), std::log(2.0), 1e-12);
  const double before = control.state();
  control.update(1.25, 0.8);  // the mean and the derived network on both sides of the target
  EXPECT_NEAR(control.state(), before, 1e-12);
  for (int i = 0; i < 5; ++i) control.update(0.01, 0.2);
  EXPECT_NEAR(control.state(), before - 0.5, 1e-12);
}

TEST(TargetControl, DoublingHasTheReleasedBand) {
  TargetControl control({.control = Control::doubling, .first_weight = 1});
  control.update(0, 1.01);
  EXPECT_EQ(control.state(), 2);
  control.update(0, 0.3);
  EXPECT_EQ(control.state(), 2);
  control.update(0, 0.24);
  EXPECT_EQ(control.state(), 1);
}

TEST(CostForm, NamesTheKnownForms) {
  EXPECT_EQ(parse_cost_form("duals"), CostForm::duals);
  EXPECT_EQ(thrown_by([] { return parse_cost_form("dual"); }),
            "2: unknown form of the cost `dual`\n  did you mean `duals`?");
}

}  // namespace
}  // namespace kasimir
