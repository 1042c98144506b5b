// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/array_builder.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

bool has(const std::vector<int>& iters, int iter) { return std::ranges::count(iters, iter) > 0; }

/// How one axis is walked: coordinate = stride * position + dilation * window + offset.
struct Walk {
  int axis = 0;
  int position = -1;  ///< left iterator; -1: the axis is read at one place
  int window = -1;    ///< reduced iterator; -1: no window
  std::int64_t input = 1;
  std::int64_t output = 1;
  std::int64_t stride = 1;
  std::int64_t size = 1;
  std::int64_t dilation = 1;
  std::int64_t offset = 0;

  [[nodiscard]] bool plain() const { return window < 0 && stride == 1 && offset == 0 && input == output; }
};

class WindowedSum {
 public:
  WindowedSum(ArrayBuilder& build, const BoundGraph& graph, const BoundStage& stage, const std::vector<int>& held)
      : build_(build), graph_(graph), stage_(stage), held_(held) {
    for (const LeftAxis& axis : stage.left) left_.insert(left_.end(), axis.digits.begin(), axis.digits.end());
  }

  std::optional<int> run(const BoundRead& activation, const BoundRead& weight) {
    if (!read_weight(weight)) return std::nullopt;
    axes_.resize(activation.at.size());
    for (std::size_t a = 0; a < axes_.size(); ++a)
      if (!read_axis(activation, a)) return std::nullopt;
    if (batch_ < 0 || !covers() || !choose_walks()) return std::nullopt;
    const int x = arrange_input(held_[static_cast<std::size_t>(activation.tensor)]);
    const double factor = stage_.root ? std::sqrt(stage_.factor.value()) : stage_.factor.value();
    const int w = build_.scale(arrange_weight(held_[static_cast<std::size_t>(weight.tensor)]), factor);
    return arrange_result(convolve(x, w));
  }

 private:
  [[nodiscard]] std::int64_t extent(int iter) const { return stage_.iters[static_cast<std::size_t>(iter)].extent; }
  [[nodiscard]] ArrayShape extents(const std::vector<int>& iters) const {
    ArrayShape all;
    for (int iter : iters) all.push_back(extent(iter));
    return all;
  }
  [[nodiscard]] std::int64_t volume(const std::vector<int>& iters) const {
    std::int64_t product = 1;
    for (int iter : iters) product *= extent(iter);
    return product;
  }

  /// Each axis of the weight is one iterator, or has extent 1.
  bool read_weight(const BoundRead& weight) {
    const auto& axes = graph_.tensors[static_cast<std::size_t>(weight.tensor)].axes;
    for (std::size_t a = 0; a < weight.at.size(); ++a) {
      const BoundCoord coord = tidy(stage_, weight.at[a]);
      if (coord.wrap || coord.offset != 0 || coord.terms.size() > 1) return false;
      const int iter = coord.terms.empty() ? -1 : coord.terms[0].first;
      const std::int64_t walked = iter < 0 ? 1 : extent(iter);
      if (walked != axes[a].extent || (iter >= 0 && (coord.terms[0].second != 1 || has(weight_, iter)))) return false;
      weight_.push_back(iter);
    }
    return true;
  }

  /// The batch, channels, or an axis that is walked.
  bool read_axis(const BoundRead& activation, std::size_t a) {
    const auto& axis = graph_.tensors[static_cast<std::size_t>(activation.tensor)].axes[a];
    BoundCoord coord = tidy(stage_, activation.at[a]);
    if (coord.wrap) {
      if (coord.terms.size() != 1 || coord.terms[0].second != 1) return false;
      rolls_.emplace_back(static_cast<std::int64_t>(a), -coord.offset);
      coord = {coord.terms, 0, {}};
    }
    for (const auto& [iter, factor] : coord.terms) {
      if (factor < 1 || has(read_, iter)) return false;
      read_.push_back(iter);
    }
    if (axis.kind == AxisKind::batch) {
      batch_ = static_cast<int>(a);
      return true;
    }
    return joins_weights(coord, axis.extent) ? read_channels(coord, a) : read_walk(coord, a, axis.extent);
  }

  /// True if the coordinate names the whole axis by iterators of the weight.
  [[nodiscard]] bool joins_weights(const BoundCoord& coord, std::int64_t whole) const {
    std::int64_t step = 1;
    for (auto term = coord.terms.rbegin(); term != coord.terms.rend(); ++term) {
      if (!has(weight_, term->first) || term->second != step) return false;
      step *= extent(term->first);
    }
    return !coord.terms.empty() && coord.offset == 0 && step == whole;
  }

  bool read_channels(const BoundCoord& coord, std::size_t a) {
    for (const auto& term : coord.terms) {
      axes_[a].push_back(term.first);
      (has(left_, term.first) ? groups_ : ins_).push_back(term.first);
    }
    return true;
  }

  bool read_walk(const BoundCoord& coord, std::size_t a, std::int64_t input) {
    Walk walk;
    walk.axis = static_cast<int>(a);
    walk.input = input;
    walk.offset = coord.offset;
    for (const auto& [iter, factor] : coord.terms) {
      if (has(weight_, iter)) {
        if (walk.window >= 0 || has(left_, iter)) return false;
        walk.window = iter;
        walk.size = extent(iter);
        walk.dilation = factor;
      } else {
        if (walk.position >= 0 || !has(left_, iter)) return false;
        walk.position = iter;
        walk.output = extent(iter);
        walk.stride = factor;
      }
    }
    walks_.push_back(walk);
    return walk.offset < input;
  }

  /// Every iterator has been seen where it belongs.
  bool covers() {
    for (int iter : left_) {
      if (extent(iter) == 1 || has(read_, iter)) continue;
      if (!has(weight_, iter)) return false;
      outs_.push_back(iter);
    }
    return std::ranges::all_of(stage_.reduced,
                               [&](int iter) { return extent(iter) == 1 || (has(read_, iter) && has(weight_, iter)); });
  }

  /// The two axes that the library walks: those that need it, then rows and columns.
  bool choose_walks() {
    std::vector<Walk> chosen;
    std::vector<Walk> rest;
    for (const Walk& walk : walks_) (walk.plain() ? rest : chosen).push_back(walk);
    const auto spatial = [&](const Walk& walk) {
      return walk.position >= 0 && is_spatial(stage_.iters[static_cast<std::size_t>(walk.position)].kind);
    };
    std::ranges::stable_partition(rest, spatial);
    for (const Walk& walk : rest) {
      if (chosen.size() < 2) {
        chosen.push_back(walk);
      } else if (walk.input > 1) {
        return false;  // more positions than a convolution has axes
      }
    }
    if (chosen.empty() || chosen.size() > 2) return false;
    std::ranges::sort(chosen, {}, &Walk::axis);
    walks_ = std::move(chosen);
    return true;
  }

  /// [n, groups * ins, rows, columns].
  int arrange_input(int value) {
    for (const auto& [dim, by] : rolls_) value = build_.roll(value, dim, by);
    for (std::size_t a = axes_.size(); a-- > 0;)
      if (!axes_[a].empty()) value = build_.unflatten(value, static_cast<std::int64_t>(a), extents(axes_[a]));
    std::vector<int> names;  // of the dimensions now: an iterator of channels, or -1 - axis
    for (std::size_t a = 0; a < axes_.size(); ++a) {
      if (axes_[a].empty()) names.push_back(-1 - static_cast<int>(a));
      names.insert(names.end(), axes_[a].begin(), axes_[a].end());
    }
    ArrayShape order;
    const auto take = [&](int name) { order.push_back(std::ranges::find(names, name) - names.begin()); };
    take(-1 - batch_);
    for (int iter : groups_) take(iter);
    for (int iter : ins_) take(iter);
    for (const Walk& walk : walks_) take(-1 - walk.axis);
    const std::size_t kept = order.size();
    for (std::size_t d = 0; d < names.size(); ++d)
      if (std::ranges::count(order, static_cast<std::int64_t>(d)) == 0) order.push_back(static_cast<std::int64_t>(d));
    value = build_.permute(value, order);
    for (std::size_t d = names.size(); d-- > kept;) value = build_.squeeze(value, static_cast<std::int64_t>(d));
    value = build_.flatten(value, 1, static_cast<std::int64_t>(groups_.size() + ins_.size()));
    return walks_.size() > 1 ? value : build_.unsqueeze(value, 3);
  }

  /// [groups * outs, ins, window rows, window columns].
  int arrange_weight(int value) {
    std::vector<int> wanted = groups_;
    wanted.insert(wanted.end(), outs_.begin(), outs_.end());
    wanted.insert(wanted.end(), ins_.begin(), ins_.end());
    for (const Walk& walk : walks_)
      if (walk.window >= 0) wanted.push_back(walk.window);
    ArrayShape order;
    for (int iter : wanted) order.push_back(std::ranges::find(weight_, iter) - weight_.begin());
    for (std::size_t a = 0; a < weight_.size(); ++a)
      if (std::ranges::count(order, static_cast<std::int64_t>(a)) == 0) order.push_back(static_cast<std::int64_t>(a));
    const std::int64_t columns = walks_.size() > 1 ? walks_[1].size : 1;
    return build_.reshape(build_.permute(value, order),
                          {volume(groups_) * volume(outs_), volume(ins_), walks_[0].size, columns});
  }

  int convolve(int x, int weight) {
    array::Convolution op;
    op.groups = volume(groups_);
    for (std::size_t i = 0; i < walks_.size(); ++i) {
      const Walk& walk = walks_[i];
      const std::int64_t span = walk.dilation * (walk.size - 1) + 1;
      op.stride[i] = walk.output > 1 ? walk.stride : 1;
      op.dilation[i] = walk.size > 1 ? walk.dilation : 1;
      op.before[i] = std::max<std::int64_t>(0, -walk.offset);
      // Elements that nobody reads are cut off, unless the library's rounding already leaves them out.
      const std::int64_t first = std::max<std::int64_t>(0, walk.offset);
      const std::int64_t needed = walk.stride * (walk.output - 1) + span;
      const std::int64_t there = walk.input - first + op.before[i];
      op.after[i] = std::max<std::int64_t>(0, needed - there);
      const bool rounds = needed <= there && (there - span) / op.stride[i] + 1 == walk.output;
      const std::int64_t stop = needed >= there || rounds ? walk.input : walk.input - (there - needed);
      x = build_.slice(x, static_cast<std::int64_t>(2 + i), first, stop);
    }
    return build_.convolution(x, weight, op);
  }

  /// From [n, groups * outs, rows, columns] to the axes of the stage's result.
  int arrange_result(int value) {
    std::vector<int> channels = groups_;
    channels.insert(channels.end(), outs_.begin(), outs_.end());
    std::vector<int> iters{stage_.left.front().digits.front()};
    iters.insert(iters.end(), channels.begin(), channels.end());
    value = build_.unflatten(value, 1, extents(channels));
    for (std::size_t i = 0; i < 2; ++i) {
      const int position = i < walks_.size() ? walks_[i].position : -1;
      if (position < 0) {
        value = build_.squeeze(value, static_cast<std::int64_t>(iters.size()));
      } else {
        iters.push_back(position);
      }
    }
    return to_axes(build_, stage_, {value, iters});
  }

  ArrayBuilder& build_;
  const BoundGraph& graph_;
  const BoundStage& stage_;
  const std::vector<int>& held_;
  std::vector<int> left_;
  std::vector<int> weight_;                                   ///< the iterator of each axis, -1 for extent 1
  std::vector<int> read_;                                     ///< iterators of the activation
  std::vector<std::vector<int>> axes_;                        ///< of the activation: its digits, where it is channels
  std::vector<std::pair<std::int64_t, std::int64_t>> rolls_;  ///< (axis, by)
  std::vector<Walk> walks_;
  std::vector<int> groups_;  ///< in both and on the left
  std::vector<int> ins_;     ///< in both and summed over
  std::vector<int> outs_;    ///< in the weight and on the left
  int batch_ = -1;
};

}  // namespace

std::optional<int> convolution_of(ArrayBuilder& build, const BoundGraph& graph, const BoundStage& stage,
                                  const BoundRead& activation, const BoundRead& weight, const std::vector<int>& held) {
  return WindowedSum(build, graph, stage, held).run(activation, weight);
}

}  // namespace kasimir
