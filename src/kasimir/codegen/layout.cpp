// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/layout.h"

#include "kasimir/codegen/c_training.h"

#include <algorithm>
#include <map>
#include <numeric>

namespace kasimir {
namespace {

/// Outermost first.
int rank_of(AxisKind kind) {
  switch (kind) {
    case AxisKind::batch:
      return 0;
    case AxisKind::height:
      return 1;
    case AxisKind::width:
      return 2;
    case AxisKind::window_h:
      return 3;
    case AxisKind::window_w:
      return 4;
    case AxisKind::group:
      return 5;
    case AxisKind::token:
      return 6;
    case AxisKind::channel:
      return 7;
  }
  return 7;
}

void lay_out(const BoundTensor& tensor, bool known, TensorLayout& layout) {
  const std::size_t rank = tensor.axes.size();
  std::vector<std::size_t> order(rank);
  std::iota(order.begin(), order.end(), 0);
  // The first of several channels is innermost where there is no batch: a weight's gradient sums products along it.
  if (!known && !tensor.axes.empty() && tensor.axes[0].kind != AxisKind::batch) std::ranges::reverse(order);
  if (!known) std::ranges::stable_sort(order, {}, [&](std::size_t axis) { return rank_of(tensor.axes[axis].kind); });
  layout.strides.assign(rank, 0);
  layout.size = 1;
  for (std::size_t i = rank; i-- > 0;) {
    const std::size_t axis = order[i];
    layout.strides[axis] = layout.size;
    layout.size *= layout.low[axis] + tensor.axes[axis].extent + layout.high[axis];
  }
  layout.origin = 0;
  for (std::size_t axis = 0; axis < rank; ++axis) layout.origin += layout.low[axis] * layout.strides[axis];
}

void widen(TensorLayout& layout, std::size_t axis, std::int64_t low, std::int64_t high) {
  if (low > widest_ring || high > widest_ring) return;
  layout.low[axis] = std::max(layout.low[axis], low);
  layout.high[axis] = std::max(layout.high[axis], high);
}

void add_rings(const NestProgram& program, std::vector<TensorLayout>& layouts) {
  for (const Nest& nest : program.run)
    for_each_read(nest, [&](const BoundRead& read) {
      const auto t = static_cast<std::size_t>(read.tensor);
      if (program.known[t]) return;
      for (std::size_t a = 0; a < read.at.size(); ++a) {
        const auto& axis = program.tensors[t].axes[a];
        if (!is_spatial(axis.kind) || read.at[a].wrap) continue;
        const auto range = range_of(nest, read.at[a]);
        widen(layouts[t], a, std::max<std::int64_t>(0, -range.first),
              std::max<std::int64_t>(0, range.second - axis.extent + 1));
      }
    });
}

/// What must be equal for two tensors to share memory whose ring was zeroed once.
std::vector<std::int64_t> signature(const BoundTensor& tensor, const TensorLayout& layout) {
  std::vector<std::int64_t> key;
  if (!layout.ringed()) return key;
  key = {layout.element.bytes ? 1 : 0, layout.element.zero};
  for (std::size_t a = 0; a < tensor.axes.size(); ++a)
    key.insert(key.end(),
               {static_cast<std::int64_t>(tensor.axes[a].kind), tensor.axes[a].extent, layout.low[a], layout.high[a]});
  return key;
}

Element element_of(const NestProgram& program, int tensor) {
  const auto found = program.codes.find(tensor);
  if (found == program.codes.end()) return {};
  const IntegerFormat& format = found->second;
  Element element{false, true, 0, format.lowest(), format.highest()};
  element.bytes = format.bits <= 8 && !program.known[static_cast<std::size_t>(tensor)];
  if (element.bytes && format.is_signed) element.zero = 1 << (format.bits - 1);
  return element;
}

struct Buffer {
  std::vector<std::int64_t> key;
  std::int64_t size = 0;
  int free_from = 0;  ///< the first nest that may write it
  int ring = 0;       ///< the byte of its ring
  std::int64_t place = 0;
};

/// The nests that define and last read each activation; -1 for none.
std::vector<std::pair<int, int>> lifetimes(const NestProgram& program, const std::vector<int>& in,
                                           const std::vector<int>& out) {
  std::vector<std::pair<int, int>> lives(program.tensors.size(), {-1, -1});
  for (int tensor : in) lives[static_cast<std::size_t>(tensor)] = {0, 0};
  for (int i = 0; i < static_cast<int>(program.run.size()); ++i) {
    const Nest& nest = program.run[static_cast<std::size_t>(i)];
    for_each_read(nest, [&](const BoundRead& read) { lives[static_cast<std::size_t>(read.tensor)].second = i; });
    for_each_out(nest, [&](int tensor) { lives[static_cast<std::size_t>(tensor)] = {i, i}; });
  }
  for (int tensor : out) lives[static_cast<std::size_t>(tensor)].second = static_cast<int>(program.run.size());
  // What a later segment takes up for more images at once is filled by several runs of all that comes before.
  for (const Segment& segment : program.segments)
    for (std::size_t i = segment.begin; i < segment.end; ++i)
      for_each_out(program.run[i], [&](int written) {
        const auto& axes = program.tensors[static_cast<std::size_t>(written)].axes;
        if (!axes.empty() && axes[0].extent > segment.batch) lives[static_cast<std::size_t>(written)].first = 0;
      });
  return lives;
}

}  // namespace

std::int64_t TensorLayout::floats() const {
  constexpr auto bytes = static_cast<std::int64_t>(sizeof(float));
  return element.bytes ? (size + bytes - 1) / bytes : size;
}

bool TensorLayout::ringed() const {
  return std::ranges::any_of(low, [](std::int64_t n) { return n > 0; }) ||
         std::ranges::any_of(high, [](std::int64_t n) { return n > 0; });
}

namespace {

MemoryPlan plan_memory(const NestProgram& program, const std::vector<int>& in, const std::vector<int>& out,
                       const std::vector<Overhang>& more) {
  MemoryPlan plan;
  plan.layouts.resize(program.tensors.size());
  for (std::size_t t = 0; t < program.tensors.size(); ++t) {
    plan.layouts[t].low.assign(program.tensors[t].axes.size(), 0);
    plan.layouts[t].high.assign(program.tensors[t].axes.size(), 0);
    plan.layouts[t].element = element_of(program, static_cast<int>(t));
  }
  add_rings(program, plan.layouts);
  for (const Overhang& beyond : more)
    widen(plan.layouts[static_cast<std::size_t>(beyond.tensor)], beyond.axis, beyond.low, beyond.high);
  for (std::size_t t = 0; t < program.tensors.size(); ++t)
    lay_out(program.tensors[t], program.known[t], plan.layouts[t]);

  plan.place.assign(program.tensors.size(), -1);
  const auto lives = lifetimes(program, in, out);
  std::vector<std::size_t> order;
  for (std::size_t t = 0; t < lives.size(); ++t)
    if (!program.known[t] && lives[t].first >= 0) order.push_back(t);
  std::ranges::stable_sort(order, {}, [&](std::size_t t) { return lives[t].first; });
  std::vector<Buffer> buffers;
  std::vector<std::size_t> buffer_of(lives.size());
  for (std::size_t t : order) {
    const TensorLayout& layout = plan.layouts[t];
    const auto key = signature(program.tensors[t], layout);
    auto found =
        std::ranges::find_if(buffers, [&](const Buffer& b) { return b.key == key && b.free_from <= lives[t].first; });
    if (found == buffers.end()) found = buffers.insert(buffers.end(), {key, 0, 0, 0, 0});
    found->size = std::max(found->size, layout.floats());
    if (layout.ringed()) found->ring = layout.element.zero;
    // The nest that reads a tensor last may not write over it: it reads neighbours of what it writes.
    found->free_from = lives[t].second + 1;
    buffer_of[t] = static_cast<std::size_t>(found - buffers.begin());
  }
  for (Buffer& buffer : buffers) {
    buffer.place = plan.size;
    if (buffer.ring != 0) plan.fills.push_back({buffer.place, buffer.size, buffer.ring});
    // Whole cache lines, and reads of a last partial vector may pass the end.
    plan.size += round_up(buffer.size + 16, 16);
  }
  for (std::size_t t : order) plan.place[t] = buffers[buffer_of[t]].place;
  return plan;
}

}  // namespace

MemoryPlan plan_memory(const NestProgram& program, const std::vector<Overhang>& more) {
  return plan_memory(program, {program.input}, {program.output}, more);
}

MemoryPlan plan_memory(const TrainingPass& pass, const std::vector<Overhang>& more) {
  return plan_memory(pass.program, pass.in, pass.out, more);
}

TensorLayout compact_layout(const BoundTensor& tensor, bool known) {
  TensorLayout layout;
  layout.low.assign(tensor.axes.size(), 0);
  layout.high.assign(tensor.axes.size(), 0);
  lay_out(tensor, known, layout);
  return layout;
}

}  // namespace kasimir
