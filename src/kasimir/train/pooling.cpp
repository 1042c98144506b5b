// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/peephole.h"
#include "kasimir/train/view.h"
#include "kasimir/train/window_form.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

bool is_reduced(const BoundStage& stage, int iter) { return std::ranges::count(stage.reduced, iter) > 0; }

/// The walk of an axis whose coordinate is a position and a window that is reduced; nothing for any other.
std::optional<WindowWalk> window_walk(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                                      std::size_t axis) {
  const BoundCoord coord = simplified(stage, read.at[axis]);
  if (coord.wrap || coord.terms.size() != 2) return std::nullopt;
  WindowWalk walk;
  walk.axis = static_cast<int>(axis);
  walk.input = graph.tensors[static_cast<std::size_t>(read.tensor)].axes[axis].extent;
  walk.offset = coord.offset;
  for (const auto& [iter, factor] : coord.terms) {
    const std::int64_t extent = stage.iters[static_cast<std::size_t>(iter)].extent;
    if (factor < 1) return std::nullopt;
    if (is_reduced(stage, iter)) {
      walk.window = iter;
      walk.size = extent;
      walk.dilation = factor;
    } else {
      walk.position = iter;
      walk.output = extent;
      walk.stride = factor;
    }
  }
  if (walk.position < 0 || walk.window < 0) return std::nullopt;
  return walk;
}

struct Plan {
  BoundStage stage;
  int from = -1;
  std::vector<WindowWalk> walks;
  std::vector<std::int64_t> extents;  ///< of the pooled tensor
  std::shared_ptr<const ReadView> view;
  double factor = 1.0;
};

/// Sums windows along the walks' axes; all other axes stay.
at::Tensor pooled(const Plan& plan, const at::Tensor& input) {
  std::vector<std::int64_t> axes;
  std::vector<std::int64_t> last;
  std::vector<std::int64_t> pads;
  std::vector<std::int64_t> size{1, 1};
  std::vector<std::int64_t> step{1, 1};
  for (std::size_t i = 0; i < plan.walks.size(); ++i) {
    const WindowWalk& walk = plan.walks[i];
    const std::size_t place = 2 - plan.walks.size() + i;
    axes.push_back(walk.axis);
    last.push_back(static_cast<std::int64_t>(i) - static_cast<std::int64_t>(plan.walks.size()));
    size[place] = walk.size;
    step[place] = walk.stride;
    pads.insert(pads.begin(), {walk.before(), walk.after()});  // constant_pad_nd counts from the last axis
  }
  at::Tensor x = input.movedim(axes, last);
  if (std::ranges::any_of(pads, [](std::int64_t p) { return p != 0; })) x = at::constant_pad_nd(x, pads);
  const std::int64_t kept = x.dim() - static_cast<std::int64_t>(plan.walks.size());
  const std::vector<std::int64_t> outer = x.sizes().slice(0, static_cast<std::size_t>(kept)).vec();
  x = kept > 1 ? x.flatten(1, kept - 1) : x.unsqueeze(1);
  if (plan.walks.size() == 1) x = x.unsqueeze(2);
  at::Tensor y = at::avg_pool2d(x, size, step, {0, 0}, false, true, 1);
  std::vector<std::int64_t> shape = outer;
  for (const WindowWalk& walk : plan.walks) shape.push_back(walk.output);
  return y.reshape(shape).movedim(last, axes);
}

/// The maximum over windows of a padded tensor, as a sum of the places that reach it divided by their number: its
/// gradient is split evenly among ties, and nothing k * k times as large as the result is ever computed in float.
at::Tensor largest(const Plan& plan, const at::Tensor& input) {
  std::vector<std::int64_t> pads;
  for (std::int64_t axis = input.dim() - 1; axis >= 0; --axis) {
    const auto walk = std::ranges::find(plan.walks, static_cast<int>(axis), &WindowWalk::axis);
    const bool windowed = walk != plan.walks.end();
    pads.insert(pads.end(), {windowed ? walk->before() : 0, windowed ? walk->after() : 0});
  }
  const bool padded = std::ranges::any_of(pads, [](std::int64_t p) { return p != 0; });
  std::vector<at::Tensor> places{padded ? at::constant_pad_nd(input, pads) : input};
  for (const WindowWalk& walk : plan.walks) {
    std::vector<at::Tensor> more;
    for (const at::Tensor& place : places)
      for (std::int64_t r = 0; r < walk.size; ++r)
        more.push_back(place.slice(walk.axis, r * walk.dilation,
                                   r * walk.dilation + walk.stride * (walk.output - 1) + 1, walk.stride));
    places = std::move(more);
  }
  at::Tensor top = places[0].detach();
  for (std::size_t i = 1; i < places.size(); ++i) top = at::maximum(top, places[i].detach());
  if (!input.requires_grad() || !at::GradMode::is_enabled()) return top;
  at::Tensor sum = at::zeros_like(top);
  at::Tensor ties = at::zeros_like(top);
  for (const at::Tensor& place : places) {
    // As 0 and 1 in the tensors' own type: comparisons and sums of such are vectorised, those of booleans are not.
    at::Tensor reached = at::empty_like(top);
    at::eq_out(reached, place.detach(), top);
    ties.add_(reached);
    sum = at::addcmul(sum, place, reached);
  }
  return at::div(sum, ties);
}

}  // namespace

std::optional<Action> pooling_action(const BoundGraph& graph, const BoundStage& stage) {
  const auto* read = std::get_if<BoundRead>(&stage.nodes[0]);
  if (stage.reduce == Reduce::none || stage.nodes.size() != 1 || read == nullptr) return std::nullopt;
  Plan plan;
  plan.stage = stage;
  plan.from = read->tensor;
  plan.factor = stage.root ? std::sqrt(stage.factor.value()) : stage.factor.value();
  // The pooled tensor is read as the input was, but plainly where it was read through windows.
  BoundGraph after = graph;
  BoundRead plain = *read;
  std::vector<int> windows;
  for (std::size_t axis = 0; axis < read->at.size(); ++axis) {
    const auto walk = window_walk(graph, stage, *read, axis);
    if (!walk) continue;
    plain.at[axis] = {{{walk->position, 1}}, 0, std::nullopt};
    after.tensors[static_cast<std::size_t>(read->tensor)].axes[axis].extent = walk->output;
    windows.push_back(walk->window);
    plan.walks.push_back(*walk);
  }
  if (plan.walks.empty() || plan.walks.size() > 2 || plan.walks.front().axis == 0) return std::nullopt;
  const bool all = std::ranges::all_of(stage.reduced, [&](int r) {
    return stage.iters[static_cast<std::size_t>(r)].extent == 1 || std::ranges::count(windows, r) == 1;
  });
  plan.view = std::make_shared<ReadView>(after, stage, plain);
  const auto& iters = plan.view->iters();
  const bool sums = stage.reduce == Reduce::sum;
  const bool dilated = std::ranges::any_of(plan.walks, [](const WindowWalk& w) { return w.dilation != 1; });
  if (sums && dilated) return std::nullopt;
  if (!all || std::ranges::any_of(iters, [&](int i) { return is_reduced(stage, i); })) return std::nullopt;
  return Action{"pooling", [plan, sums](Tensors& tensors) {
                  const at::Tensor& from = tensors[static_cast<std::size_t>(plan.from)];
                  at::Tensor y = plan.view->apply(sums ? pooled(plan, from) : largest(plan, from));
                  if (plan.factor != 1.0) y = at::mul(y, plan.factor);
                  tensors[static_cast<std::size_t>(plan.stage.out)] = to_axes(plan.stage, y, plan.view->iters());
                }};
}

}  // namespace kasimir
