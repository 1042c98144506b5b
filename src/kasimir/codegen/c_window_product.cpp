// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_nests.h"

#include <algorithm>

namespace kasimir {
namespace {

/// How each loop of the nest occurs in a read: the axis and the coefficient, or -1 for none or several axes.
int only_axis(const BoundRead& read, int loop, std::int64_t coefficient) {
  int found = -1;
  for (std::size_t a = 0; a < read.at.size(); ++a)
    for (const auto& [term, factor] : read.at[a].terms) {
      if (term != loop) continue;
      if (found >= 0 || (coefficient != 0 && factor != coefficient)) return -1;
      found = static_cast<int>(a);
    }
  return found;
}
bool occurs(const BoundRead& read, int loop) {
  return std::ranges::any_of(read.at, [&](const BoundCoord& coord) {
    return std::ranges::any_of(coord.terms, [&](const auto& term) { return term.first == loop; });
  });
}

/// The pair of loops of an axis of the map: the result's and the window's.
bool window_axis(const BoundTensor& tensor, const Nest& nest, const BoundRead& a, AxisKind kind, int& place,
                 int& window) {
  for (std::size_t axis = 0; axis < a.at.size(); ++axis) {
    if (tensor.axes[axis].kind != kind) continue;
    const BoundCoord& coord = a.at[axis];
    if (coord.wrap || coord.terms.size() != 2 || coord.offset < -widest_ring || coord.offset > 0) return false;
    for (const auto& [loop, factor] : coord.terms) {
      if (factor != 1) return false;
      (loop < nest.free ? place : window) = loop;
    }
    return place >= 0 && window >= 0 && extent_of(nest, window) == 3 &&
           only_axis(a, place, 1) == static_cast<int>(axis) && only_axis(a, window, 1) == static_cast<int>(axis);
  }
  return false;
}

/// What the loops that are no window are, or false where the product is of another kind.
bool other_loops(const Nest& nest, const BoundRead& a, const BoundRead& b, WindowProduct& found) {
  for (int loop = 0; loop < static_cast<int>(nest.loops.size()); ++loop) {
    if (loop == found.row || loop == found.column || loop == found.window_row || loop == found.window_column ||
        extent_of(nest, loop) == 1)
      continue;
    const bool in_a = occurs(a, loop);
    const bool in_b = occurs(b, loop);
    int* kind = nullptr;
    if (loop >= nest.free) {
      if (!in_a || !in_b) return false;
      kind = &found.input;
    } else if (in_a && in_b) {
      kind = &found.group;
    } else if (in_b) {
      kind = &found.channel;
    } else if (in_a) {
      kind = &found.batch;
    }
    if (kind == nullptr || *kind >= 0) return false;
    *kind = loop;
  }
  return found.channel >= 0 && found.input >= 0;
}

}  // namespace

std::optional<WindowProduct> find_window_product(const NestProgram& program, const Nest& nest) {
  if (!sums_products(nest)) return std::nullopt;
  const auto& first = std::get<BoundRead>(nest.value[0]);
  const auto& second = std::get<BoundRead>(nest.value[1]);
  const bool first_known = program.known[static_cast<std::size_t>(first.tensor)];
  if (first_known == program.known[static_cast<std::size_t>(second.tensor)]) return std::nullopt;
  WindowProduct found;
  found.a = first_known ? 1 : 0;
  found.b = 1 - found.a;
  const BoundRead& a = first_known ? second : first;
  const BoundRead& b = first_known ? first : second;
  const BoundTensor& map = program.tensors[static_cast<std::size_t>(a.tensor)];
  if (!window_axis(map, nest, a, AxisKind::height, found.row, found.window_row) ||
      !window_axis(map, nest, a, AxisKind::width, found.column, found.window_column))
    return std::nullopt;
  if (occurs(b, found.row) || occurs(b, found.column) || !other_loops(nest, a, b, found)) return std::nullopt;
  const auto no_wrap = [](const BoundRead& read) {
    return std::ranges::none_of(read.at, [](const BoundCoord& coord) { return coord.wrap.has_value(); });
  };
  if (!no_wrap(a) || !no_wrap(b)) return std::nullopt;
  // What the tiles write and the epilogue reads are whole vectors of channels.
  const BoundTensor& out = program.tensors[static_cast<std::size_t>(nest.out)];
  for (std::size_t axis = 0; axis < out.axes.size(); ++axis)
    for (const auto& [loop, factor] : nest.out_at[axis].terms)
      if (loop == found.channel && (factor != 1 || out.axes[axis].kind != AxisKind::channel)) return std::nullopt;
  // Coordinates of the epilogue stay inside their tensors: they are plain ones.
  for (const NestNode& node : nest.epilogue)
    if (const auto* read = std::get_if<BoundRead>(&node))
      for (std::size_t axis = 0; axis < read->at.size(); ++axis) {
        const auto range = range_of(nest, read->at[axis]);
        const std::int64_t extent = program.tensors[static_cast<std::size_t>(read->tensor)].axes[axis].extent;
        if (read->at[axis].wrap || range.first < 0 || range.second >= extent) return std::nullopt;
      }
  return found;
}

WinogradBlock default_winograd(const Nest& nest, const WindowProduct& product, const CTarget& target, int m) {
  WinogradBlock block;
  block.m = m;
  const std::int64_t tiles = extent_of(nest, product.batch) * ((extent_of(nest, product.row) + m - 1) / m) *
                             ((extent_of(nest, product.column) + m - 1) / m);
  const std::int64_t wide = round_up(extent_of(nest, product.channel), target.lanes) / target.lanes;
  const int sums = target.registers >= 32 ? 16 : 8;
  block.vectors = tiles <= 4 && wide >= 4 ? 4 : wide >= 2 ? 2 : 1;
  block.rows = static_cast<int>(std::min<std::int64_t>(sums / block.vectors, std::max<std::int64_t>(1, tiles)));
  // Sixteen tiles keep what is transformed in the second-level cache at any width (docs/native.md, defaults).
  block.tiles = static_cast<int>(std::min<std::int64_t>(16, round_up(tiles, block.rows)));
  block.tiles = static_cast<int>(round_up(block.tiles, block.rows));
  return block;
}

WinogradBlock winograd_for_team(const WinogradBlock& block, const Nest& nest, const WindowProduct& product,
                                const CTarget& target, int threads) {
  const auto units = [](std::int64_t all, std::int64_t size) { return (all + size - 1) / size; };
  const std::int64_t m = block.m;
  const std::int64_t tiles = extent_of(nest, product.batch) * units(extent_of(nest, product.row), m) *
                             units(extent_of(nest, product.column), m);
  const std::int64_t wide = units(extent_of(nest, product.channel), target.lanes);
  WinogradBlock narrow = block;
  if (extent_of(nest, product.group) < threads && units(tiles, block.rows) < threads &&
      units(wide, block.vectors) < threads)
    narrow.vectors = static_cast<int>(std::max<std::int64_t>(1, wide / threads));
  return narrow;
}

WinogradSeconds winograd_seconds(const Nest& nest, const WindowProduct& product, int m, double weight_rate) {
  const auto of = [&](int loop) { return static_cast<double>(extent_of(nest, loop)); };
  const auto tiles_along = [&](int loop) { return static_cast<double>((extent_of(nest, loop) + m - 1) / m); };
  const double pairs = of(product.group) * of(product.input) * of(product.channel);
  const double tiles = of(product.batch) * tiles_along(product.row) * tiles_along(product.column);
  const double square = (m + 2) * (m + 2);
  const double transforms = square * 4 * of(product.group) * tiles / rates::transform_floats;
  // With few inputs, every product is stored after a handful of additions.
  const double short_sums = of(product.input) < 8 ? 3 : 1;
  return {square * short_sums * pairs * tiles / rates::multiply_adds, square * pairs / weight_rate,
          transforms * of(product.input), transforms * of(product.channel)};
}

double estimated_seconds(const Nest& nest, const WindowProduct& product, int m, double weight_rate) {
  if (m > 0) {
    const WinogradSeconds parts = winograd_seconds(nest, product, m, weight_rate);
    return parts.products + parts.weights + parts.input + parts.output;
  }
  const auto of = [&](int loop) { return static_cast<double>(extent_of(nest, loop)); };
  const double pairs = of(product.group) * of(product.input) * of(product.channel);
  const double places = of(product.batch) * of(product.row) * of(product.column);
  return direct_seconds(9 * pairs * places, 9 * pairs, weight_rate);
}

std::vector<Overhang> winograd_overhang(const NestProgram& program, const Nest& nest, const WindowProduct& product,
                                        int m) {
  const auto& read = std::get<BoundRead>(nest.value[static_cast<std::size_t>(product.a)]);
  const BoundTensor& map = program.tensors[static_cast<std::size_t>(read.tensor)];
  std::vector<Overhang> more;
  for (std::size_t axis = 0; axis < map.axes.size(); ++axis) {
    const AxisKind kind = map.axes[axis].kind;
    if (!is_spatial(kind)) continue;
    const std::int64_t places = extent_of(nest, kind == AxisKind::height ? product.row : product.column);
    const std::int64_t last = (places + m - 1) / m * m + 1 + read.at[axis].offset;
    more.push_back({read.tensor, axis, std::max<std::int64_t>(0, -read.at[axis].offset),
                    std::max<std::int64_t>(0, last - map.axes[axis].extent + 1)});
  }
  return more;
}

std::int64_t winograd_packed_size(const Nest& nest, const WindowProduct& product, const WinogradBlock& block,
                                  const CTarget& target) {
  return extent_of(nest, product.group) * (block.m + 2) * (block.m + 2) * extent_of(nest, product.input) *
         round_up(extent_of(nest, product.channel), target.lanes);
}

std::int64_t winograd_scratch_size(const Nest& nest, const WindowProduct& product, const WinogradBlock& block,
                                   const CTarget& target) {
  const std::int64_t wide =
      round_up(extent_of(nest, product.input), target.lanes) + round_up(extent_of(nest, product.channel), target.lanes);
  return (block.m + 2) * (block.m + 2) * (block.tiles * wide + 2 * slab_gap);
}

}  // namespace kasimir
