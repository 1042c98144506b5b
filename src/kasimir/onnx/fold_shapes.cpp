// SPDX-License-Identifier: Apache-2.0
#include "kasimir/onnx/fold_shapes.h"

#include <algorithm>
#include <limits>

namespace kasimir {

std::size_t axis_of(const OnnxNode& node, std::int64_t axis, std::size_t rank) {
  const auto count = static_cast<std::int64_t>(rank);
  if (axis < -count || axis >= count) node.fail("axis {} of an array of {} axes", axis, rank);
  return static_cast<std::size_t>(axis < 0 ? axis + count : axis);
}

std::vector<std::int64_t> reshape_target(const OnnxNode& node, const std::vector<std::int64_t>& from,
                                         const std::vector<std::int64_t>& wanted) {
  std::vector<std::int64_t> target = wanted;
  const bool zero_is_zero = node.integer("allowzero", 0) != 0;
  const std::int64_t count = product_of(from);
  std::size_t open = target.size();
  std::vector<std::int64_t> told;
  for (std::size_t i = 0; i < target.size(); ++i) {
    if (target[i] == 0 && !zero_is_zero && i < from.size()) target[i] = from[i];
    if (target[i] == -1 && open == target.size())
      open = i;
    else
      told.push_back(target[i]);
  }
  const std::int64_t known = product_of(told);
  if (open < target.size() && known > 0 && count % known == 0) target[open] = count / known;
  if (count < 0 || product_of(target) != count)
    node.fail("{} cannot become {}", fmt::join(from, "x"), fmt::join(wanted, "x"));
  return target;
}

std::vector<std::int64_t> squeezed(const OnnxNode& node, std::vector<std::int64_t> shape,
                                   const std::vector<std::int64_t>& axes, bool given) {
  std::vector<bool> drop(shape.size(), false);
  for (const std::int64_t axis : axes) drop[axis_of(node, axis, shape.size())] = true;
  std::vector<std::int64_t> result;
  for (std::size_t i = 0; i < shape.size(); ++i) {
    if (drop[i] && shape[i] != 1) node.fail("axis {} of {} is not 1", i, fmt::join(shape, "x"));
    if (!(given ? drop[i] : shape[i] == 1)) result.push_back(shape[i]);
  }
  return result;
}

std::vector<std::int64_t> unsqueezed(const OnnxNode& node, std::vector<std::int64_t> shape,
                                     const std::vector<std::int64_t>& axes) {
  const std::size_t rank = shape.size() + axes.size();
  std::vector<bool> made(rank, false);
  for (const std::int64_t axis : axes) {
    const std::size_t at = axis_of(node, axis, rank);
    if (made[at]) node.fail("axis {} twice", at);
    made[at] = true;
  }
  std::vector<std::int64_t> result;
  std::size_t next = 0;
  for (std::size_t i = 0; i < rank; ++i) result.push_back(made[i] ? 1 : shape[next++]);
  return result;
}

std::optional<std::vector<std::int64_t>> numbers_of(const OnnxNode& node, const char* name, std::size_t i,
                                                    const std::vector<const OnnxConstant*>& inputs) {
  if (node.has(name)) return node.integers(name, {});
  if (i >= inputs.size() || inputs[i] == nullptr) return std::nullopt;
  if (!inputs[i]->whole()) node.fail("input {} (`{}`) holds no whole numbers", i + 1, name);
  return inputs[i]->integers();
}

SliceRange slice_range(const OnnxNode& node, std::int64_t extent, std::int64_t start, std::int64_t end,
                       std::int64_t step) {
  if (step == 0) node.fail("a step of 0");
  if (step == std::numeric_limits<std::int64_t>::min()) node.fail("a step of {}", step);
  const auto inside = [&](std::int64_t value, std::int64_t low, std::int64_t high) {
    return std::clamp(value < 0 ? value + extent : value, low, high);
  };
  SliceRange range{0, 0, step};
  if (extent == 0) return range;
  if (step > 0) {
    range.first = inside(start, 0, extent);
    const std::int64_t last = inside(end, 0, extent);
    range.count = last > range.first ? (last - range.first - 1) / step + 1 : 0;
  } else {
    range.first = inside(start, 0, extent - 1);
    const std::int64_t last = end < -extent ? -1 : inside(end, -1, extent - 1);
    range.count = last < range.first ? (range.first - last - 1) / -step + 1 : 0;
  }
  return range;
}

std::vector<std::int64_t> broadcast(const OnnxNode& node, const std::vector<std::int64_t>& a,
                                    const std::vector<std::int64_t>& b) {
  std::vector<std::int64_t> result(std::max(a.size(), b.size()), 1);
  for (std::size_t i = 0; i < result.size(); ++i) {
    const auto at = [&](const std::vector<std::int64_t>& shape) {
      return i < shape.size() ? shape[shape.size() - 1 - i] : 1;
    };
    if (at(a) != at(b) && at(a) != 1 && at(b) != 1)
      node.fail("{} and {} do not fit each other", fmt::join(a, "x"), fmt::join(b, "x"));
    result[result.size() - 1 - i] = at(a) == 1 ? at(b) : at(a);
  }
  return result;
}

std::vector<std::int64_t> stretched(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& shape) {
  std::vector<std::int64_t> places{0};
  std::int64_t step = product_of(from);
  for (std::size_t i = 0; i < shape.size(); ++i) {
    const std::size_t missing = shape.size() - from.size();
    const std::int64_t own = i < missing ? 1 : from[i - missing];
    step = own == 0 ? 0 : step / own;
    std::vector<std::int64_t> next;
    next.reserve(places.size() * static_cast<std::size_t>(shape[i]));
    for (const std::int64_t place : places)
      for (std::int64_t k = 0; k < shape[i]; ++k) next.push_back(place + (own == 1 ? 0 : k * step));
    places = std::move(next);
  }
  return places;
}

}  // namespace kasimir
