// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/cost_form.h"

#include "kasimir/base/error.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>

namespace kasimir {
namespace {

constexpr std::array<std::string_view, 4> names{"smooth_max", "duals", "sum", "original"};

// c, and what one unit of each part's load adds to it.
struct Joint {
  double cost = 0;
  std::vector<double> slope;
};

Joint smooth_maximum(const std::vector<double>& loads, double target, double tau) {
  Joint joint{0, std::vector<double>(loads.size())};
  const double largest = *std::max_element(loads.begin(), loads.end()) / target;
  double sum = 0;
  for (std::size_t p = 0; p < loads.size(); ++p) sum += joint.slope[p] = std::exp((loads[p] / target - largest) / tau);
  joint.cost = largest + tau * std::log(sum);
  for (double& slope : joint.slope) slope /= sum * target;
  return joint;
}

Joint weighted_sum(const std::vector<double>& loads, double target, const std::vector<double>& weights) {
  Joint joint{0, weights};
  for (std::size_t p = 0; p < loads.size(); ++p) joint.cost += weights[p] * loads[p] / target;
  for (double& slope : joint.slope) slope /= target;
  return joint;
}

Joint product(const std::vector<double>& loads, double target) {
  Joint joint{1 / target, std::vector<double>(loads.size())};
  for (std::size_t p = 0; p < loads.size(); ++p) {
    joint.cost *= loads[p];
    joint.slope[p] = 1 / loads[p];
  }
  for (double& slope : joint.slope) slope *= joint.cost;
  return joint;
}

Joint joint_cost(CostForm form, const Accelerator& accelerator, const std::vector<double>& loads, double target,
                 double tau) {
  const Aggregate aggregate = accelerator.loads.aggregate;
  if (aggregate == Aggregate::product && form != CostForm::sum) return product(loads, target);
  if (aggregate != Aggregate::max || form == CostForm::sum)
    return weighted_sum(loads, target, std::vector<double>(loads.size(), 1));
  if (form == CostForm::duals) return weighted_sum(loads, target, accelerator.duals);
  return smooth_maximum(loads, target, tau);
}

void add_slopes(const ChoiceNumbers& p, std::size_t l, const std::vector<std::vector<double>>& costs,
                ChoiceNumbers& slopes) {
  std::vector<double> means;
  for (std::size_t o = 0; o < costs.size(); ++o) {
    slopes.bits[l][o] = through_softmax(p.bits[l][o], costs[o], p.op[l][o]);
    means.push_back(std::inner_product(costs[o].begin(), costs[o].end(), p.bits[l][o].begin(), 0.0));
  }
  slopes.op[l] = through_softmax(p.op[l], means);
}

}  // namespace

std::string_view name_of(CostForm form) { return names[static_cast<std::size_t>(form)]; }

CostForm parse_cost_form(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<CostForm>(i);
  throw input_error("unknown form of the cost `{}`", name).note(suggestion(name, {names.begin(), names.end()}));
}

MeanCost mean_cost(CostForm form, const Accelerator& accelerator, const ChoiceNumbers& logits, double target,
                   double tau) {
  KASIMIR_CHECK(form != CostForm::original, "original_cost is for the original's form");
  const ChoiceNumbers p = probabilities(logits);
  const LoadTable& table = accelerator.loads;
  const Joint joint = joint_cost(form, accelerator, mean_loads(table, p), target, tau);
  MeanCost result{joint.cost, p};
  for (std::size_t l = 0; l < table.loads.size(); ++l) {
    std::vector<std::vector<double>> costs(table.loads[l].size());
    for (std::size_t o = 0; o < costs.size(); ++o)
      for (const std::vector<PartLoad>& loads : table.loads[l][o]) {
        double cost = 0;
        for (const PartLoad& one : loads) cost += joint.slope[one.part] * one.load;
        costs[o].push_back(cost);
      }
    add_slopes(p, l, costs, result.slopes);
  }
  return result;
}

MeanCost original_cost(const Accelerator& accelerator, const ChoiceDraw& draw, const ChoiceNumbers& logits,
                       double target) {
  MeanCost result{0, zeros_like(logits)};
  for (std::size_t l = 0; l < logits.op.size(); ++l) {
    const std::size_t op = draw.sample.blocks[l].active.front();
    const std::size_t bits = draw.drawn_bits[l][op].front();
    const double cost = total_load(accelerator.loads.loads[l][op][bits]) / target;
    result.cost += cost;
    result.slopes.op[l][op] = cost;
    result.slopes.bits[l][op][bits] = cost;
  }
  return result;
}

TargetControl::TargetControl(const ControlOptions& options)
    : options_(options), state_(options.control == Control::doubling ? options.first_weight : 0) {}

double TargetControl::weight(double cost) const {
  if (options_.control == Control::doubling) return state_;
  return std::max(0.0, state_ + options_.rho * std::log(cost)) / cost;
}

void TargetControl::update(double cost, double derived) {
  constexpr double most = 50;  // where the pull of the cost drowns the loss
  if (options_.control == Control::doubling) {
    if (derived > 1) state_ *= 2;
    if (derived < options_.lower_band) state_ /= 2;
    return;
  }
  const double step = std::clamp(0.5 * (std::log(cost) + std::log(derived)), -1.0, 1.0);
  state_ = std::clamp(state_ + options_.rate * step, 0.0, most);
}

}  // namespace kasimir
