// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/claim_check.h"

#include "kasimir/base/threads.h"

#include <cmath>
#include <limits>
#include <numeric>

namespace kasimir {
namespace {

__extension__ using Wide = __int128;

/// Values of all symbols at a site. 0: none.
using Values = std::array<std::int64_t, symbol_count>;

/// Reads one kernel's stages at one site. Every number below is whole; what is not, or does not fit, is said.
class SiteReader {
 public:
  SiteReader(const Graph& graph, const Values& values) : graph_(graph), values_(values) {}

  std::optional<Rejection> read() {
    defined_.assign(graph_.tensors.size(), false);
    read_.assign(graph_.tensors.size(), false);
    elements_.assign(graph_.tensors.size(), 1);
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) measure(t);
    for (const Stage& stage : graph_.stages) {
      if (against_) return against_;
      visit(stage);
    }
    read_[static_cast<std::size_t>(graph_.output)] = true;
    for (std::size_t t = 0; t < graph_.tensors.size(); ++t) {
      if (!defined_[t]) say("every tensor has a value", graph_.tensors[t].name);
      if (!read_[t]) say("every tensor is read", graph_.tensors[t].name);
    }
    return against_;
  }

  [[nodiscard]] std::int64_t cost(CostKind kind) const { return cost_[static_cast<std::size_t>(kind)]; }
  [[nodiscard]] std::int64_t largest() const { return largest_; }  ///< elements of an activation for one image
  /// The output without its batch.
  [[nodiscard]] std::vector<std::pair<AxisKind, std::int64_t>> output() {
    std::vector<std::pair<AxisKind, std::int64_t>> axes;
    for (const auto& axis : graph_.tensors[static_cast<std::size_t>(graph_.output)].axes)
      if (axis.kind != AxisKind::batch) axes.emplace_back(axis.kind, extent(axis.extent));
    return axes;
  }

 private:
  void say(std::string rule, std::string with) {
    if (!against_) against_ = Rejection{std::move(rule), std::move(with)};
  }

  std::int64_t product(std::int64_t a, std::int64_t b) {
    std::int64_t result = 0;
    if (__builtin_mul_overflow(a, b, &result)) say("numbers fit in 64 bits", fmt::format("{} * {}", a, b));
    return result;
  }

  /// A size with numbers in place of symbols. Coefficients of iterators and offsets may be below 1.
  std::int64_t whole(const Size& size) {
    Wide above = size.coefficient().num();
    Wide below = size.coefficient().den();
    bool fits = true;
    for (int i = 0; i < symbol_count; ++i) {
      const int power = size.power(static_cast<Symbol>(i));
      const std::int64_t value = values_[static_cast<std::size_t>(i)];
      if (power != 0 && value < 1) say("every symbol has a value", size.str());
      Wide& side = power > 0 ? above : below;
      for (int p = std::abs(power); p > 0; --p) fits = fits && !__builtin_mul_overflow(side, value, &side);
    }
    if (!fits || below == 0) {
      say("numbers fit in 64 bits", size.str());
      return 1;
    }
    const Wide result = above / below;
    if (above % below != 0) say("every size is whole", fmt::format("{} at {}", size.str(), where()));
    if (result > std::numeric_limits<std::int64_t>::max() || result < std::numeric_limits<std::int64_t>::min())
      say("numbers fit in 64 bits", size.str());
    return static_cast<std::int64_t>(result);
  }

  std::int64_t extent(const Size& size) {
    const std::int64_t value = whole(size);
    if (value < 1) say("every size is at least 1", fmt::format("{} = {} at {}", size.str(), value, where()));
    return value;
  }

  [[nodiscard]] std::string where() const {
    std::string text;
    for (int i = 0; i < symbol_count; ++i)
      if (values_[static_cast<std::size_t>(i)] > 0)
        text += fmt::format("{}{}={}", text.empty() ? "" : " ", symbol_name(static_cast<Symbol>(i)),
                            values_[static_cast<std::size_t>(i)]);
    return text;
  }

  void measure(std::size_t t) {
    const Tensor& tensor = graph_.tensors[t];
    for (const auto& axis : tensor.axes) {
      const std::int64_t size = extent(axis.extent);
      if (axis.kind != AxisKind::batch) elements_[t] = product(elements_[t], size);
    }
    extent(tensor.fan_in);
    defined_[t] = tensor.role != Role::between;
    if (tensor.role == Role::between) largest_ = std::max(largest_, elements_[t]);
    if (tensor.role == Role::weight) cost_[static_cast<std::size_t>(CostKind::params)] += elements_[t];
  }

  void visit(const Stage& stage) {
    std::vector<std::int64_t> extents;
    for (const Iter& iter : stage.iters) extents.push_back(extent(iter.extent));
    check_left(stage, extents);
    std::vector<bool> from_tensors;
    std::int64_t products = 0;
    for (const auto& node : stage.nodes) {
      bool varies = false;
      if (const auto* access = std::get_if<BasicRead<Symbolic>>(&node)) {
        check_read(*access);
        varies = true;
      } else if (const auto* apply = std::get_if<Apply>(&node)) {
        const bool a = from_tensors[static_cast<std::size_t>(apply->a)];
        const bool b = apply->b >= 0 && from_tensors[static_cast<std::size_t>(apply->b)];
        varies = a || b;
        products += apply->fn == Fn::mul && a && b ? 1 : 0;
      }
      from_tensors.push_back(varies);
    }
    const auto out = static_cast<std::size_t>(stage.out);
    if (defined_[out]) say("a tensor is defined once", graph_.tensors[out].name);
    defined_[out] = true;
    std::int64_t& bytes = cost_[static_cast<std::size_t>(CostKind::bytes)];
    bytes += product(elements_[out], static_cast<std::int64_t>(bytes_per_element));
    if (stage.reduce != Reduce::sum || stage.stat || products == 0) return;
    std::int64_t work = products;
    for (std::size_t i = 0; i < extents.size(); ++i)
      if (stage.iters[i].kind != AxisKind::batch) work = product(work, extents[i]);
    cost_[static_cast<std::size_t>(CostKind::macs)] += work;
  }

  void check_left(const Stage& stage, const std::vector<std::int64_t>& extents) {
    const Tensor& out = graph_.tensors[static_cast<std::size_t>(stage.out)];
    if (stage.left.size() != out.axes.size()) return say("a stage names each axis of what it defines", out.name);
    for (std::size_t a = 0; a < stage.left.size(); ++a) {
      std::int64_t digits = 1;
      for (const int digit : stage.left[a].digits) digits = product(digits, extents[static_cast<std::size_t>(digit)]);
      if (const std::int64_t size = extent(out.axes[a].extent); digits != size)
        say("digits multiply to their axis", fmt::format("{} and {} of {} at {}", digits, size, out.name, where()));
    }
  }

  void check_read(const BasicRead<Symbolic>& access) {
    const auto tensor = static_cast<std::size_t>(access.tensor);
    if (!defined_[tensor]) say("a tensor is defined before it is read", graph_.tensors[tensor].name);
    if (access.at.size() != graph_.tensors[tensor].axes.size())
      say("a read has a coordinate for each axis", graph_.tensors[tensor].name);
    read_[tensor] = true;
    for (const Coord& coord : access.at) {
      for (const auto& [iter, factor] : coord.terms) whole(factor);
      if (coord.wrap) extent(*coord.wrap);
      check_offset(coord.offset);
    }
  }

  /// Terms of an offset need not be whole, their sum must be.
  void check_offset(const SizeSum& offset) {
    Wide num = 0;
    Wide den = 1;
    for (const Size& term : offset.terms()) {
      const Size doubled = term * Size(2);
      num = num * 2 + whole(doubled) * den;
      den *= 2;
      if (num % 2 == 0 && den > 1) {
        num /= 2;
        den /= 2;
      }
    }
    if (num % den != 0) say("every offset is whole", fmt::format("{} at {}", offset.str(), where()));
  }

  const Graph& graph_;
  const Values& values_;
  std::vector<bool> defined_, read_;
  std::vector<std::int64_t> elements_;  ///< for one image
  std::array<std::int64_t, cost_kinds> cost_{};
  std::int64_t largest_ = 0;
  std::optional<Rejection> against_;
};

}  // namespace
}  // namespace kasimir
