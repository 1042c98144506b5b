// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/peephole.h"
#include "kasimir/train/view.h"
#include "kasimir/train/window_form.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

using Extents = std::vector<std::int64_t>;

std::int64_t extent_of(const BoundStage& stage, int iter) { return stage.iters[static_cast<std::size_t>(iter)].extent; }

std::int64_t volume(const BoundStage& stage, const std::vector<int>& iters) {
  std::int64_t product = 1;
  for (int iter : iters) product *= extent_of(stage, iter);
  return product;
}

/// A rearrangement of dimensions: cut, permuted, joined. What changes nothing is left out.
struct Rearrangement {
  std::vector<std::pair<std::int64_t, Extents>> cuts;  ///< from the last dimension to the first
  Extents order;
  Extents shape;

  [[nodiscard]] at::Tensor apply(at::Tensor t) const {
    for (const auto& [dim, extents] : cuts) t = t.unflatten(dim, extents);
    if (!std::ranges::is_sorted(order)) t = t.permute(order);
    return t.sizes() == at::IntArrayRef(shape) ? t : t.reshape(shape);
  }
};

/// Everything that is known before the first run.
struct Plan {
  BoundStage stage;
  WindowForm form;
  Rearrangement input;   ///< to [n, groups * ins, rows, columns]
  Rearrangement weight;  ///< to [groups * outs, ins, window rows, window columns]
  Extents pads;          ///< for constant_pad_nd before the convolution; empty: none
  Extents padding{0, 0};
  Extents stride{1, 1};
  Extents dilation{1, 1};
  Extents cut;              ///< extents of the result with its channels cut: n, groups.., outs.., rows, columns
  std::vector<int> result;  ///< the iterator of each of these dimensions, -1 for extent 1
  std::int64_t groups = 1;
  double factor = 1.0;
};

/// The two axes that the library walks: those that need it, then heights and widths.
std::optional<std::vector<WindowWalk>> spatial_walks(const BoundGraph& graph, const WindowForm& form) {
  std::vector<WindowWalk> chosen;
  std::vector<WindowWalk> rest;
  const auto& axes = graph.tensors[static_cast<std::size_t>(form.activation)].axes;
  for (const WindowWalk& walk : form.walks) (walk.identity() ? rest : chosen).push_back(walk);
  for (const WindowWalk& walk : rest)
    if (is_spatial(axes[static_cast<std::size_t>(walk.axis)].kind) && chosen.size() < 2) chosen.push_back(walk);
  for (const WindowWalk& walk : rest) {
    const bool taken = std::ranges::any_of(chosen, [&](const WindowWalk& c) { return c.axis == walk.axis; });
    if (!taken && chosen.size() < 2) {
      chosen.push_back(walk);
    } else if (!taken && walk.input > 1) {
      return std::nullopt;  // more positions than the library has axes for: a matrix product does as well
    }
  }
  if (chosen.empty() || chosen.size() > 2) return std::nullopt;
  std::ranges::sort(chosen, {}, &WindowWalk::axis);
  return chosen;
}

Rearrangement input_rearrangement(const BoundGraph& graph, const BoundStage& stage, const WindowForm& form,
                                  const std::vector<WindowWalk>& walks) {
  Rearrangement to;
  // One entry per dimension after the cuts: the iterator of a channel digit, or -1 - axis.
  std::vector<int> names;
  const auto& axes = graph.tensors[static_cast<std::size_t>(form.activation)].axes;
  for (std::size_t a = 0; a < axes.size(); ++a) {
    const auto join = std::ranges::find(form.channels, static_cast<int>(a), &std::pair<int, std::vector<int>>::first);
    if (join == form.channels.end()) {
      names.push_back(-1 - static_cast<int>(a));
      continue;
    }
    if (join->second.size() > 1) {
      Extents extents;
      for (int digit : join->second) extents.push_back(extent_of(stage, digit));
      to.cuts.insert(to.cuts.begin(), {static_cast<std::int64_t>(a), extents});
    }
    names.insert(names.end(), join->second.begin(), join->second.end());
  }
  const auto take = [&](int name) { to.order.push_back(std::ranges::find(names, name) - names.begin()); };
  take(-1 - form.batch_axis);
  for (int iter : form.groups) take(iter);
  for (int iter : form.ins) take(iter);
  for (const WindowWalk& walk : walks) take(-1 - walk.axis);
  for (std::size_t i = 0; i < names.size(); ++i)
    if (std::ranges::count(to.order, static_cast<std::int64_t>(i)) == 0)
      to.order.push_back(static_cast<std::int64_t>(i));
  to.shape = {axes[static_cast<std::size_t>(form.batch_axis)].extent,
              volume(stage, form.groups) * volume(stage, form.ins), walks[0].input,
              walks.size() > 1 ? walks[1].input : 1};
  return to;
}

Rearrangement weight_rearrangement(const BoundStage& stage, const WindowForm& form,
                                   const std::vector<WindowWalk>& walks) {
  Rearrangement to;
  std::vector<int> wanted = form.groups;
  wanted.insert(wanted.end(), form.outs.begin(), form.outs.end());
  wanted.insert(wanted.end(), form.ins.begin(), form.ins.end());
  for (const WindowWalk& walk : walks)
    if (walk.window >= 0) wanted.push_back(walk.window);
  for (int iter : wanted) to.order.push_back(std::ranges::find(form.weight_iters, iter) - form.weight_iters.begin());
  for (std::size_t i = 0; i < form.weight_iters.size(); ++i)
    if (form.weight_iters[i] < 0) to.order.push_back(static_cast<std::int64_t>(i));
  to.shape = {volume(stage, form.groups) * volume(stage, form.outs), volume(stage, form.ins), walks[0].size,
              walks.size() > 1 ? walks[1].size : 1};
  return to;
}

/// The library pads both ends alike and keeps every position that fits: what differs is padded or cropped before.
void plan_walks(const std::vector<WindowWalk>& walks, Plan& plan) {
  bool alike = true;
  for (std::size_t i = 0; i < walks.size(); ++i) {
    const WindowWalk& walk = walks[i];
    plan.stride[i] = walk.stride;
    plan.dilation[i] = walk.dilation;
    plan.padding[i] = walk.before();
    const std::int64_t span = walk.dilation * (walk.size - 1);
    const std::int64_t fits = (walk.input + 2 * walk.before() - span - 1) / walk.stride + 1;
    alike = alike && walk.before() >= 0 && walk.input + 2 * walk.before() > span && fits == walk.output;
  }
  if (alike) return;
  plan.padding = {0, 0};
  plan.pads = {0, 0, 0, 0};
  for (std::size_t i = 0; i < walks.size(); ++i) {
    const std::size_t place = i == 0 ? 2 : 0;  // constant_pad_nd counts from the last axis
    plan.pads[place] = walks[i].before();
    plan.pads[place + 1] = walks[i].after();
  }
}

void plan_result(const BoundGraph& graph, const std::vector<WindowWalk>& walks, Plan& plan) {
  const auto add = [&](int iter, std::int64_t extent) {
    plan.result.push_back(iter);
    plan.cut.push_back(extent);
  };
  const auto& axes = graph.tensors[static_cast<std::size_t>(plan.form.activation)].axes;
  const int batch = plan.stage.left.front().digits.front();
  add(batch, axes[static_cast<std::size_t>(plan.form.batch_axis)].extent);
  for (int iter : plan.form.groups) add(iter, extent_of(plan.stage, iter));
  for (int iter : plan.form.outs) add(iter, extent_of(plan.stage, iter));
  add(walks[0].position, walks[0].output);
  add(walks.size() > 1 ? walks[1].position : -1, walks.size() > 1 ? walks[1].output : 1);
}

at::Tensor run(const Plan& plan, const at::Tensor& activation, const at::Tensor& weight) {
  at::Tensor x = activation;
  for (const Rotation& rotation : plan.form.rotations) x = at::roll(x, rotation.by, rotation.axis);
  x = plan.input.apply(x);
  if (!plan.pads.empty()) x = at::constant_pad_nd(x, plan.pads);
  at::Tensor w = plan.weight.apply(weight);
  if (plan.factor != 1.0) w = at::mul(w, plan.factor);
  return at::conv2d(x, w, {}, plan.stride, plan.padding, plan.dilation, plan.groups);
}

/// From [n, groups * outs, rows, columns] to the axes of the stage's result.
at::Tensor as_result(const Plan& plan, const at::Tensor& y) {
  const std::size_t channels = plan.cut.size() - 3;
  at::Tensor cut = y;
  if (channels == 0) cut = y.squeeze(1);
  if (channels > 1) cut = y.unflatten(1, at::IntArrayRef(plan.cut).slice(1, channels));
  std::vector<int> order = plan.result;
  for (std::size_t i = order.size(); i-- > 0;) {
    if (order[i] >= 0) continue;
    cut = cut.squeeze(static_cast<std::int64_t>(i));
    order.erase(order.begin() + static_cast<std::ptrdiff_t>(i));
  }
  return to_axes(plan.stage, cut, order);
}

}  // namespace

std::optional<Action> convolution_action(const BoundGraph& graph, const BoundStage& stage) {
  auto form = window_form(graph, stage);
  if (!form) return std::nullopt;
  const auto walks = spatial_walks(graph, *form);
  if (!walks) return std::nullopt;
  Plan plan;
  plan.stage = stage;
  plan.form = *std::move(form);
  plan.groups = volume(stage, plan.form.groups);
  plan.factor = stage.root ? std::sqrt(stage.factor.value()) : stage.factor.value();
  plan.input = input_rearrangement(graph, stage, plan.form, *walks);
  plan.weight = weight_rearrangement(stage, plan.form, *walks);
  plan_walks(*walks, plan);
  plan_result(graph, *walks, plan);
  return Action{"convolution", [plan](Tensors& tensors) {
                  const at::Tensor y = run(plan, tensors[static_cast<std::size_t>(plan.form.activation)],
                                           tensors[static_cast<std::size_t>(plan.form.weight)]);
                  tensors[static_cast<std::size_t>(plan.stage.out)] = as_result(plan, y);
                }};
}

}  // namespace kasimir
