// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/peephole.h"
#include "kasimir/train/stage_match.h"
#include "kasimir/train/view.h"

#include <algorithm>

namespace kasimir {
namespace {

/// Stage numbers of the four steps of a softmax.
struct Steps {
  std::size_t largest, power, total, quotient;
};

std::optional<std::size_t> defining_stage(const BoundGraph& graph, int tensor) {
  const auto found = std::ranges::find(graph.stages, tensor, &BoundStage::out);
  if (found == graph.stages.end()) return std::nullopt;
  return static_cast<std::size_t>(found - graph.stages.begin());
}

std::size_t readers(const BoundGraph& graph, int tensor) {
  std::size_t count = tensor == graph.output ? 1 : 0;
  for (const BoundStage& stage : graph.stages)
    for (const BoundNode& node : stage.nodes)
      if (const auto* read = std::get_if<BoundRead>(&node); read != nullptr && read->tensor == tensor) ++count;
  return count;
}

const BoundStage& at(const BoundGraph& graph, std::size_t stage) { return graph.stages[stage]; }

/// `y = e / z`, `z = sum e`, `e = exp(x - m)`, `m = max x`, found from the last one.
std::optional<Steps> find_steps(const BoundGraph& graph, std::size_t last) {
  const Pattern y(at(graph, last));
  const Apply* quotient = y.apply(y.root(), Fn::div);
  if (quotient == nullptr || y.read(quotient->a) == nullptr || y.read(quotient->b) == nullptr) return std::nullopt;
  const auto e = defining_stage(graph, y.read(quotient->a)->tensor);
  const auto z = defining_stage(graph, y.read(quotient->b)->tensor);
  if (!e || !z) return std::nullopt;
  const Pattern power(at(graph, *e));
  const Apply* exponential = power.apply(power.root(), Fn::exp);
  const Apply* difference = exponential == nullptr ? nullptr : power.apply(exponential->a, Fn::sub);
  if (difference == nullptr || power.read(difference->a) == nullptr || power.read(difference->b) == nullptr)
    return std::nullopt;
  const auto m = defining_stage(graph, power.read(difference->b)->tensor);
  if (!m || !at(graph, *m).stabiliser || at(graph, *m).nodes.size() != 1) return std::nullopt;
  return Steps{*m, *e, *z, last};
}

/// The iterators of e's left side that m reduces; nothing if m is not the maximum of the same x at e's own places.
std::optional<std::vector<int>> softmax_iters(const BoundGraph& graph, const Steps& steps) {
  const BoundStage& m = at(graph, steps.largest);
  const BoundStage& e = at(graph, steps.power);
  const Pattern power(e);
  const Apply* difference = power.apply(power.apply(power.root(), Fn::exp)->a, Fn::sub);
  const auto kept = plain_iters(graph, e, *power.read(difference->b));
  const auto left = plain_left(m);
  if (!kept || !left || kept->size() != left->size()) return std::nullopt;
  Renaming renaming;
  for (std::size_t a = 0; a < left->size(); ++a)
    if (!rename(m, (*left)[a], e, (*kept)[a], renaming)) return std::nullopt;
  if (!same_read(m, std::get<BoundRead>(m.nodes[0]), e, *power.read(difference->a), renaming)) return std::nullopt;
  if (renaming.size() != e.iters.size() || renaming.size() != m.iters.size()) return std::nullopt;
  std::vector<int> over;
  for (int r : m.reduced) over.push_back(renaming.at(r));
  return over;
}

/// e is summed and divided in place: the axes that z sums and y divides along are those of `over`.
bool divides_by_total(const BoundGraph& graph, const Steps& steps, const std::vector<int>& over) {
  const BoundStage& e = at(graph, steps.power);
  const BoundStage& z = at(graph, steps.total);
  const BoundStage& y = at(graph, steps.quotient);
  const auto* summed = std::get_if<BoundRead>(&z.nodes[0]);
  const Pattern quotient(y);
  const Apply* division = quotient.apply(quotient.root(), Fn::div);
  const auto e_left = plain_left(e);
  if (!e_left || z.nodes.size() != 1 || summed == nullptr || z.reduce != Reduce::sum || z.factor != Rational(1))
    return false;
  if (summed->tensor != e.out || y.reduce != Reduce::none || y.factor != Rational(1) || e.factor != Rational(1))
    return false;
  const auto in_z = plain_iters(graph, z, *summed);
  const auto upper = plain_iters(graph, y, *quotient.read(division->a));
  const auto lower = plain_iters(graph, y, *quotient.read(division->b));
  const auto z_left = plain_left(z);
  if (!in_z || !upper || !lower || !z_left || plain_left(y) != upper || lower->size() != z_left->size()) return false;
  for (std::size_t a = 0; a < e_left->size(); ++a) {
    const bool is_over = std::ranges::count(over, (*e_left)[a]) > 0;
    const bool is_summed = std::ranges::count(z.reduced, (*in_z)[a]) > 0;
    if (is_over != is_summed) return false;
    if (is_over) continue;
    const auto place = std::ranges::find(*z_left, (*in_z)[a]) - z_left->begin();
    if ((*lower)[static_cast<std::size_t>(place)] != (*upper)[a]) return false;
  }
  return true;
}

struct Plan {
  BoundStage power;  ///< whose left side the result has
  int x = -1;
  int out = -1;
  std::shared_ptr<const ReadView> view;
  std::vector<int> order;  ///< others.., over..
  std::int64_t over = 0;   ///< how many of them at the end
  std::vector<std::int64_t> over_extents;
};

void run(const Plan& plan, Tensors& tensors) {
  const at::Tensor view = plan.view->apply(tensors[static_cast<std::size_t>(plan.x)]);
  at::Tensor x = aligned(view, plan.view->iters(), plan.order);
  if (plan.over > 1) x = x.flatten(-plan.over, -1);
  at::Tensor y = at::softmax(x, -1);
  if (plan.over > 1) y = y.unflatten(-1, plan.over_extents);
  tensors[static_cast<std::size_t>(plan.out)] = to_axes(plan.power, y, plan.order);
}

}  // namespace

std::optional<Fusion> softmax_fusion(const BoundGraph& graph, std::size_t last) {
  const auto steps = find_steps(graph, last);
  if (!steps) return std::nullopt;
  const auto over = softmax_iters(graph, *steps);
  if (!over || !divides_by_total(graph, *steps, *over)) return std::nullopt;
  const BoundStage& e = at(graph, steps->power);
  if (readers(graph, e.out) != 2 || readers(graph, at(graph, steps->largest).out) != 1 ||
      readers(graph, at(graph, steps->total).out) != 1)
    return std::nullopt;
  const Pattern power(e);
  const BoundRead& x = *power.read(power.apply(power.apply(power.root(), Fn::exp)->a, Fn::sub)->a);
  Plan plan;
  plan.power = e;
  plan.x = x.tensor;
  plan.out = at(graph, last).out;
  plan.view = std::make_shared<ReadView>(graph, e, x);
  for (int iter : left_iters(e))
    if (std::ranges::count(*over, iter) == 0) plan.order.push_back(iter);
  for (int iter : *over) {
    plan.order.push_back(iter);
    plan.over_extents.push_back(e.iters[static_cast<std::size_t>(iter)].extent);
  }
  plan.over = static_cast<std::int64_t>(over->size());
  Action action{"softmax", [plan](Tensors& tensors) { run(plan, tensors); }};  // names a primitive: torch's operation
  return Fusion{{steps->largest, steps->power, steps->total, last}, std::move(action)};
}

}  // namespace kasimir
