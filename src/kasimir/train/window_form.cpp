// SPDX-License-Identifier: Apache-2.0
#include "kasimir/train/window_form.h"

#include "kasimir/train/stage_match.h"
#include "kasimir/train/view.h"

#include <algorithm>

namespace kasimir {
namespace {

bool has(const std::vector<int>& iters, int iter) { return std::ranges::count(iters, iter) > 0; }

class Analysis {
 public:
  Analysis(const BoundGraph& graph, const BoundStage& stage) : graph_(graph), stage_(stage), left_(left_iters(stage)) {}

  std::optional<WindowForm> run() {
    if (!find_operands() || !read_weight()) return std::nullopt;
    for (std::size_t axis = 0; axis < activation_->at.size(); ++axis)
      if (!read_axis(static_cast<int>(axis))) return std::nullopt;
    if (form_.batch_axis < 0 || !covers()) return std::nullopt;
    return form_;
  }

 private:
  [[nodiscard]] std::int64_t extent(int iter) const { return stage_.iters[static_cast<std::size_t>(iter)].extent; }
  [[nodiscard]] const BoundTensor& tensor(int index) const { return graph_.tensors[static_cast<std::size_t>(index)]; }
  [[nodiscard]] bool in_weight(int iter) const { return has(form_.weight_iters, iter); }
  [[nodiscard]] bool is_left(int iter) const { return has(left_, iter); }

  bool find_operands() {
    if (stage_.reduce != Reduce::sum || stage_.nodes.size() != 3) return false;
    const Pattern pattern(stage_);
    const Apply* product = pattern.apply(pattern.root(), Fn::mul);
    if (product == nullptr) return false;
    activation_ = pattern.read(product->a);
    weight_ = pattern.read(product->b);
    if (activation_ == nullptr || weight_ == nullptr) return false;
    if (tensor(activation_->tensor).role == Role::weight) std::swap(activation_, weight_);
    if (tensor(weight_->tensor).role != Role::weight || tensor(activation_->tensor).role == Role::weight) return false;
    form_.activation = activation_->tensor;
    form_.weight = weight_->tensor;
    return true;
  }

  bool read_weight() {
    for (std::size_t axis = 0; axis < weight_->at.size(); ++axis) {
      const BoundCoord coord = simplified(stage_, weight_->at[axis]);
      if (coord.wrap || coord.offset != 0 || coord.terms.size() > 1) return false;
      if (coord.terms.empty()) {
        if (tensor(weight_->tensor).axes[axis].extent != 1) return false;
        form_.weight_iters.push_back(-1);
        continue;
      }
      const auto& [iter, factor] = coord.terms[0];
      if (factor != 1 || extent(iter) != tensor(weight_->tensor).axes[axis].extent || in_weight(iter)) return false;
      form_.weight_iters.push_back(iter);
    }
    return true;
  }

  bool read_axis(int axis) {
    const auto place = static_cast<std::size_t>(axis);
    const BoundAxis& of = tensor(activation_->tensor).axes[place];
    BoundCoord coord = simplified(stage_, activation_->at[place]);
    if (coord.wrap) {
      if (coord.terms.size() != 1 || coord.terms[0].second != 1) return false;
      form_.rotations.push_back({axis, -coord.offset});
      coord.wrap.reset();
      coord.offset = 0;
    }
    for (const auto& [iter, factor] : coord.terms) {
      if (factor < 1 || has(used_, iter)) return false;
      used_.push_back(iter);
    }
    if (of.kind == AxisKind::batch) {
      form_.batch_axis = axis;
      return true;
    }
    return is_join(coord, of.extent) ? read_channels(axis, coord) : read_walk(axis, coord, of.extent);
  }

  /// True if the coordinate joins iterators of the weight to the whole axis.
  [[nodiscard]] bool is_join(const BoundCoord& coord, std::int64_t of) const {
    std::int64_t volume = 1;
    for (const auto& [iter, factor] : coord.terms) {
      if (!in_weight(iter)) return false;
      volume *= extent(iter);
    }
    return !coord.terms.empty() && coord.offset == 0 && volume == of && is_mixed_radix(stage_, coord, 1);
  }

  bool read_channels(int axis, const BoundCoord& coord) {
    std::vector<int> digits;
    for (const auto& term : coord.terms) {
      digits.push_back(term.first);
      (is_left(term.first) ? form_.groups : form_.ins).push_back(term.first);
    }
    form_.channels.emplace_back(axis, std::move(digits));
    return true;
  }

  bool read_walk(int axis, const BoundCoord& coord, std::int64_t of) {
    WindowWalk walk;
    walk.axis = axis;
    walk.input = of;
    walk.offset = coord.offset;
    for (const auto& [iter, factor] : coord.terms) {
      if (in_weight(iter)) {
        if (walk.window >= 0 || is_left(iter)) return false;
        walk.window = iter;
        walk.size = extent(iter);
        walk.dilation = factor;
      } else {
        if (walk.position >= 0 || !is_left(iter)) return false;
        walk.position = iter;
        walk.output = extent(iter);
        walk.stride = factor;
      }
    }
    form_.walks.push_back(walk);
    return true;
  }

  /// Every iterator has been seen where it belongs.
  bool covers() {
    for (int iter : left_) {
      if (extent(iter) == 1) continue;
      if (in_weight(iter) && !has(used_, iter)) form_.outs.push_back(iter);
      if (!in_weight(iter) && !has(used_, iter)) return false;
    }
    return std::ranges::all_of(stage_.reduced,
                               [&](int r) { return extent(r) == 1 || (has(used_, r) && in_weight(r)); });
  }

  using BoundAxis = BasicAxis<Bound>;
  const BoundGraph& graph_;
  const BoundStage& stage_;
  std::vector<int> left_;
  const BoundRead* activation_ = nullptr;
  const BoundRead* weight_ = nullptr;
  std::vector<int> used_;  ///< iterators of the activation
  WindowForm form_;
};

}  // namespace

std::optional<WindowForm> window_form(const BoundGraph& graph, const BoundStage& stage) {
  return Analysis(graph, stage).run();
}

}  // namespace kasimir
