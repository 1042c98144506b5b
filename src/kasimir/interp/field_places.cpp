// SPDX-License-Identifier: Apache-2.0
#include "kasimir/interp/field_plan.h"
#include "kasimir/interp/interpreter.h"

#include <algorithm>

namespace kasimir {
namespace {

/// Rounded up; `b` is positive.
std::int64_t ceil_div(std::int64_t a, std::int64_t b) { return a >= 0 ? (a + b - 1) / b : -(-a / b); }

}  // namespace

// Most of the time of planning goes here, so the innermost iterator is a row: where it enters and leaves the tensor is
// computed.
std::vector<std::uint32_t> field_places(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read,
                                        const std::vector<int>& order) {
  const auto axes = detail::prepare(graph, read);
  std::size_t points = 1;
  const auto extent = [&](int iter) { return stage.iters[static_cast<std::size_t>(iter)].extent; };
  for (const int iter : order) points *= static_cast<std::size_t>(extent(iter));
  std::vector<std::uint32_t> table(points, FieldPlan::outside);
  std::vector<std::int64_t> at(stage.iters.size(), 0);
  const bool rows = !order.empty() && std::ranges::none_of(axes, [](const auto& axis) { return axis.wrap != 0; });
  if (!rows) {
    for (std::uint32_t& entry : table) {
      const std::int64_t place = detail::position(axes, at);
      if (place >= 0) entry = static_cast<std::uint32_t>(place);
      detail::advance(stage, order, at);
    }
    return table;
  }
  const int inner = order.back();
  const std::vector<int> outer(order.begin(), order.end() - 1);
  const std::int64_t length = extent(inner);
  for (auto row = table.begin(); row != table.end(); row += length) {
    std::int64_t first = 0;
    std::int64_t last = length;  // the row is inside from `first` to before `last`
    std::int64_t place = 0;
    std::int64_t stride = 0;
    for (const detail::PreparedAxis& axis : axes) {
      std::int64_t start = axis.offset;
      std::int64_t step = 0;
      for (const auto& [iter, factor] : axis.terms) {
        if (iter == inner) {
          step += factor;
        } else {
          start += factor * at[static_cast<std::size_t>(iter)];
        }
      }
      place += start * axis.stride;
      stride += step * axis.stride;
      if (step == 0) {
        if (start < 0 || start >= axis.extent) last = 0;
      } else if (step > 0) {
        first = std::max(first, ceil_div(-start, step));
        last = std::min(last, ceil_div(axis.extent - start, step));
      } else {
        first = std::max(first, ceil_div(start - axis.extent + 1, -step));
        last = std::min(last, ceil_div(start + 1, -step));
      }
    }
    for (std::int64_t i = first; i < last; ++i) row[i] = static_cast<std::uint32_t>(place + i * stride);
    detail::advance(stage, outer, at);
  }
  return table;
}

}  // namespace kasimir
