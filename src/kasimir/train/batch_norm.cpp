// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/peephole.h"
#include "kasimir/train/stage_match.h"
#include "kasimir/train/view.h"

#include <algorithm>

namespace kasimir {
namespace {

/// `(x - mean) * rsqrt(variance + epsilon) * gamma + beta`.
struct Normalisation {
  const BoundRead* x = nullptr;
  int mean = -1, variance = -1, gamma = -1, beta = -1;
  double epsilon = 0.0;
  std::vector<int> kept;  ///< iterators of the channels, the same in all four
};

/// The operands of a commutative application in the order that `first` accepts.
template <typename Accepts>
std::optional<std::pair<int, int>> either_way(const Apply* apply, Accepts first) {
  if (apply == nullptr) return std::nullopt;
  if (first(apply->a)) return std::pair(apply->a, apply->b);
  if (first(apply->b)) return std::pair(apply->b, apply->a);
  return std::nullopt;
}

std::optional<Normalisation> normalisation(const BoundGraph& graph, const BoundStage& stage) {
  if (stage.reduce != Reduce::none || stage.factor != Rational(1)) return std::nullopt;
  const Pattern p(stage);
  const auto is_apply = [&](Fn fn) { return [&p, fn](int node) { return p.apply(node, fn) != nullptr; }; };
  const auto sum = either_way(p.apply(p.root(), Fn::add), is_apply(Fn::mul));
  if (!sum) return std::nullopt;
  const auto scaled = either_way(p.apply(sum->first, Fn::mul), is_apply(Fn::mul));
  if (!scaled) return std::nullopt;
  const auto unit = either_way(p.apply(scaled->first, Fn::mul), is_apply(Fn::sub));
  if (!unit) return std::nullopt;
  const Apply* root = p.apply(unit->second, Fn::rsqrt);
  if (root == nullptr) return std::nullopt;
  const auto spread = either_way(p.apply(root->a, Fn::add), [&](int node) { return p.read(node) != nullptr; });
  const Apply* centred = p.apply(unit->first, Fn::sub);
  if (!spread || !p.constant(spread->second)) return std::nullopt;

  const BoundRead* reads[] = {p.read(centred->b), p.read(spread->first), p.read(scaled->second), p.read(sum->second)};
  Normalisation found;
  found.x = p.read(centred->a);
  if (found.x == nullptr || std::ranges::count(reads, nullptr) > 0) return std::nullopt;
  const auto kept = plain_iters(graph, stage, *reads[0]);
  for (const BoundRead* read : reads)
    if (!kept || plain_iters(graph, stage, *read) != kept) return std::nullopt;
  found.mean = reads[0]->tensor;
  found.variance = reads[1]->tensor;
  found.gamma = reads[2]->tensor;
  found.beta = reads[3]->tensor;
  found.epsilon = p.constant(spread->second)->value();
  found.kept = *kept;
  return found;
}

std::optional<std::size_t> defining_stage(const BoundGraph& graph, int tensor) {
  const auto found = std::ranges::find(graph.stages, tensor, &BoundStage::out);
  if (found == graph.stages.end()) return std::nullopt;
  return static_cast<std::size_t>(found - graph.stages.begin());
}

/// The statistic's stage is `1/count * sum` of `summand` over everything but the kept iterators of `stage`.
bool is_mean_over_rest(const BoundStage& statistic, const BoundRead& x, const BoundStage& stage,
                       const Normalisation& norm) {
  if (!statistic.stat || statistic.reduce != Reduce::sum || statistic.root) return false;
  const auto left = plain_left(statistic);
  if (!left || left->size() != norm.kept.size()) return false;
  Renaming renaming;
  for (std::size_t a = 0; a < left->size(); ++a)
    if (!rename(statistic, (*left)[a], stage, norm.kept[a], renaming)) return false;
  std::int64_t count = 1;
  for (int r : statistic.reduced) count *= statistic.iters[static_cast<std::size_t>(r)].extent;
  return statistic.factor == Rational(1, count) && same_read(statistic, x, stage, *norm.x, renaming) &&
         renaming.size() == stage.iters.size() && renaming.size() == statistic.iters.size();
}

bool is_mean(const BoundStage& statistic, const BoundStage& stage, const Normalisation& norm) {
  const Pattern p(statistic);
  const BoundRead* x = p.read(p.root());
  return x != nullptr && is_mean_over_rest(statistic, *x, stage, norm);
}

bool is_variance(const BoundGraph& graph, const BoundStage& statistic, const BoundStage& stage,
                 const Normalisation& norm) {
  const Pattern p(statistic);
  const Apply* square = p.apply(p.root(), Fn::mul);
  if (square == nullptr || square->a != square->b) return false;
  const Apply* centred = p.apply(square->a, Fn::sub);
  if (centred == nullptr) return false;
  const BoundRead* x = p.read(centred->a);
  const BoundRead* mean = p.read(centred->b);
  if (x == nullptr || mean == nullptr || mean->tensor != norm.mean) return false;
  return plain_iters(graph, statistic, *mean) == plain_left(statistic) && is_mean_over_rest(statistic, *x, stage, norm);
}

/// Nothing but these stages reads the tensor.
bool only_read_by(const BoundGraph& graph, int tensor, const std::vector<std::size_t>& stages) {
  for (std::size_t i = 0; i < graph.stages.size(); ++i) {
    if (std::ranges::count(stages, i) > 0) continue;
    for (const BoundNode& node : graph.stages[i].nodes)
      if (const auto* read = std::get_if<BoundRead>(&node); read != nullptr && read->tensor == tensor) return false;
  }
  return tensor != graph.output;
}

struct Plan {
  BoundStage stage;
  Normalisation norm;
  int x = -1;
  std::shared_ptr<const ReadView> view;
  std::vector<int> order;          ///< batch, kept.., rest..
  std::vector<std::int64_t> kept;  ///< extents
  bool training = false;
};

void run(const Plan& plan, Tensors& tensors) {
  const auto tensor = [&](int index) -> at::Tensor& { return tensors[static_cast<std::size_t>(index)]; };
  const auto flat = [](const at::Tensor& t) { return t.reshape({-1}); };
  const auto count = static_cast<std::int64_t>(plan.kept.size());
  at::Tensor x = aligned(plan.view->apply(tensor(plan.x)), plan.view->iters(), plan.order);
  if (count == 0) x = x.unsqueeze(1);
  if (count > 1) x = x.flatten(1, count);
  std::optional<at::Tensor> mean;
  std::optional<at::Tensor> variance;
  if (!plan.training) {
    mean = flat(tensor(plan.norm.mean));
    variance = flat(tensor(plan.norm.variance));
  }
  auto [y, batch_mean, batch_deviation] =
      at::native_batch_norm(x, flat(tensor(plan.norm.gamma)), flat(tensor(plan.norm.beta)), mean, variance,
                            plan.training, 0.0, plan.norm.epsilon);
  if (plan.training) {
    // The library returns 1 / sqrt(variance + epsilon) of the biased variance.
    tensor(plan.norm.mean) = batch_mean.detach().reshape(plan.kept);
    tensor(plan.norm.variance) = batch_deviation.detach().pow(-2).sub(plan.norm.epsilon).reshape(plan.kept);
  }
  if (count == 0) y = y.squeeze(1);
  if (count > 1) y = y.unflatten(1, plan.kept);
  tensor(plan.stage.out) = to_axes(plan.stage, y, plan.order);
}

}  // namespace

std::optional<Fusion> batch_norm_fusion(const BoundGraph& graph, std::size_t last) {
  const BoundStage& stage = graph.stages[last];
  const auto norm = normalisation(graph, stage);
  if (!norm) return std::nullopt;
  Plan plan;
  plan.stage = stage;
  plan.norm = *norm;
  plan.x = norm->x->tensor;
  Fusion fusion;
  const auto mean = defining_stage(graph, norm->mean);
  const auto variance = defining_stage(graph, norm->variance);
  if (mean.has_value() != variance.has_value()) return std::nullopt;
  if (mean) {
    if (!is_mean(graph.stages[*mean], stage, *norm) || !is_variance(graph, graph.stages[*variance], stage, *norm))
      return std::nullopt;
    fusion.stages = {*mean, *variance};
    if (!only_read_by(graph, norm->mean, {*variance, last}) || !only_read_by(graph, norm->variance, {last}))
      return std::nullopt;
    // A single image may have any stride along the batch; torch 2.13 then takes a tensor for channels-last and for
    // contiguous at once, and the gradient of its batch norm is wrong.
    if (stage.iters[static_cast<std::size_t>(left_iters(stage).front())].extent == 1) return std::nullopt;
    plan.training = true;
  }
  fusion.stages.push_back(last);
  plan.view = std::make_shared<ReadView>(graph, stage, *norm->x);
  const auto left = left_iters(stage);
  const int batch = left.front();
  if (stage.iters[static_cast<std::size_t>(batch)].kind != AxisKind::batch || std::ranges::count(norm->kept, batch) > 0)
    return std::nullopt;
  plan.order = {batch};
  for (int iter : norm->kept) {
    plan.order.push_back(iter);
    plan.kept.push_back(stage.iters[static_cast<std::size_t>(iter)].extent);
  }
  for (int iter : left)
    if (iter != batch && std::ranges::count(norm->kept, iter) == 0) plan.order.push_back(iter);
  fusion.action = {"batch norm", [plan](Tensors& tensors) { run(plan, tensors); }};
  return fusion;
}

}  // namespace kasimir
