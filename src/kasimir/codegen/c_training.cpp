// SPDX-License-Identifier: Apache-2.0
#include "kasimir/codegen/c_training.h"

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

bool has_batch(const BoundTensor& tensor) {
  return !tensor.axes.empty() && tensor.axes.front().kind == AxisKind::batch;
}

/// Axes, the outermost in memory first.
std::vector<std::size_t> by_stride(const std::vector<std::int64_t>& strides) {
  std::vector<std::size_t> order(strides.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::greater{}, [&](std::size_t axis) { return strides[axis]; });
  return order;
}

}  // namespace

std::vector<std::int64_t> strides_outside(const BoundTensor& tensor) {
  return compact_layout(tensor, !has_batch(tensor)).strides;
}

std::optional<std::string> place_outside(const TrainingPass& pass, const MemoryPlan& plan, int tensor) {
  const auto t = static_cast<std::size_t>(tensor);
  // Copies of weights are numbered behind the tensors.
  if (t >= pass.program.tensors.size() || pass.program.known[t]) return std::nullopt;
  const BoundTensor& of = pass.program.tensors[t];
  if (!has_batch(of) || plan.layouts[t].ringed()) return std::nullopt;
  for (const auto& [name, arguments] : {std::pair("in", &pass.in), {"out", &pass.out}})
    if (const auto found = std::ranges::find(*arguments, tensor); found != arguments->end())
      return fmt::format("{}[{}] + part * {}", name, found - arguments->begin(), elements(of));
  return std::nullopt;
}

void write_argument(CText& text, const TrainingPass& pass, const MemoryPlan& plan, std::size_t argument, bool into) {
  const int tensor = into ? pass.in[argument] : pass.out[argument];
  if (place_outside(pass, plan, tensor)) return;
  const BoundTensor& of = pass.program.tensors[static_cast<std::size_t>(tensor)];
  const TensorLayout& layout = plan.layouts[static_cast<std::size_t>(tensor)];
  const std::vector<std::int64_t> outside = strides_outside(of);
  text.open("");
  const std::string part = has_batch(of) ? fmt::format(" + part * {}", elements(of)) : "";
  if (into) {
    text.line("const float *restrict from = in[{}]{};", argument, part);
    text.line("float *restrict to = W + {};", plan.place[static_cast<std::size_t>(tensor)] + layout.origin);
  } else {
    text.line("const float *restrict from = W + {};", plan.place[static_cast<std::size_t>(tensor)] + layout.origin);
    text.line("float *restrict to = out[{}]{};", argument, part);
  }
  std::string here = "0";
  std::string there = "0";
  int opened = 1;
  for (std::size_t axis : by_stride(layout.strides)) {
    if (of.axes[axis].extent == 1) continue;
    const std::string name = fmt::format("a{}", axis);
    text.loop(name, of.axes[axis].extent);
    ++opened;
    here += fmt::format(" + {} * {}", name, layout.strides[axis]);
    there += fmt::format(" + {} * {}", name, outside[axis]);
  }
  if (into) {
    text.line("to[{}] = from[{}];", here, there);
  } else if (has_batch(of)) {
    text.line("to[{}] = from[{}];", there, here);
  } else {
    text.line("to[{0}] = part == 0 ? from[{1}] : to[{0}] + from[{1}];", there, here);
  }
  for (int i = 0; i < opened; ++i) text.close();
}

}  // namespace kasimir
