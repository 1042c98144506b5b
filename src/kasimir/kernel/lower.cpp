// SPDX-License-Identifier: Apache-2.0
#include "kasimir/kernel/builder.h"
#include "kasimir/kernel/kernel.h"

#include <algorithm>

namespace kasimir {

Shape input_shape() {
  const Size s(Symbol::s);
  return {{AxisKind::channel, Size(Symbol::Ci)},
          {AxisKind::height, s * Size(Symbol::H)},
          {AxisKind::width, s * Size(Symbol::W)}};
}

Shape output_shape() {
  return {
      {AxisKind::channel, Size(Symbol::Co)}, {AxisKind::height, Size(Symbol::H)}, {AxisKind::width, Size(Symbol::W)}};
}

namespace {

Call call_of(const Step& step, const std::vector<Shape>& shapes, const SiteSet& sites) {
  std::array<const Shape*, 2> operands{};
  for (std::size_t i = 0; i < step.operands.size(); ++i)
    operands[i] = &shapes[static_cast<std::size_t>(step.operands[i])];
  return {*step.primitive, operands, step.arguments, sites};
}

Rejection at_step(const Rejection& reason, const Kernel& kernel, std::size_t step) {
  return {reason.rule, fmt::format("{}{}in `{} = {}`", reason.with, reason.with.empty() ? "" : ", ",
                                   tensor_name(static_cast<int>(step) + 1), str(kernel.steps[step]))};
}

std::optional<Rejection> check_output(const Kernel& kernel, const Shape& shape, const SiteSet& sites) {
  const Shape wanted = output_shape();
  bool fits = shape.size() == wanted.size();
  for (const Axis& axis : wanted) {
    const int i = find_axis(shape, axis.kind);
    fits = fits && i >= 0 && sites.equal(shape[static_cast<std::size_t>(i)].extent, axis.extent);
  }
  if (fits) return std::nullopt;
  return Rejection{"the result has the axes c=Co, h=H, w=W",
                   fmt::format("{} = {}", tensor_name(kernel.output), str(shape))};
}

std::optional<Rejection> check_used(const Kernel& kernel) {
  std::vector<bool> used(kernel.steps.size() + 1, false);
  used[static_cast<std::size_t>(kernel.output)] = true;
  for (std::size_t i = kernel.steps.size(); i-- > 0;) {
    if (!used[i + 1])
      return Rejection{"every step is used", fmt::format("`{} = {}` is read by nothing",
                                                         tensor_name(static_cast<int>(i) + 1), str(kernel.steps[i]))};
    for (int operand : kernel.steps[i].operands) used[static_cast<std::size_t>(operand)] = true;
  }
  if (!used[0]) return Rejection{"the input is used", ""};
  return std::nullopt;
}

/// Puts the axes into the order c, h, w, and closes a numeric equality such as Ci = Co by name.
int copy_to_output(StageBuilder& build, int tensor, const Shape& shape) {
  Draft draft = build.draft();
  std::vector<Coord> at(shape.size() + 1);
  at[0] = draft.batch();
  for (const Axis& axis : output_shape()) {
    const auto i = static_cast<std::size_t>(find_axis(shape, axis.kind));
    at[i + 1] = draft.left(axis.kind, axis.extent);
  }
  return draft.emit(draft.read(tensor, std::move(at)));
}

}  // namespace

std::optional<Rejection> check_shape(const Shape& shape, const SiteSet& sites) {
  AxisSet seen;
  for (const Axis& axis : shape) {
    if (seen.has(axis.kind))
      return Rejection{"a tensor has one axis of a kind", sites.explain([&] { return str(shape); })};
    seen.add(axis.kind);
    if (!sites.whole(axis.extent))
      return Rejection{"every extent is a whole number at every site",
                       sites.explain([&] { return fmt::format("{}={}", axis_letter(axis.kind), axis.extent.str()); })};
  }
  return std::nullopt;
}

Outcome<std::vector<Shape>> infer_shapes(const Kernel& kernel, const SiteSet& sites) {
  std::vector<Shape> shapes{input_shape()};
  for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
    const Step& step = kernel.steps[i];
    KASIMIR_CHECK(static_cast<int>(step.operands.size()) == step.primitive->operands, "{} operands of {}",
                  step.operands.size(), step.primitive->name);
    for (int operand : step.operands)
      KASIMIR_CHECK(operand >= 0 && operand <= static_cast<int>(i), "step {} reads tensor {}", i, operand);
    auto shape = step.primitive->shape(call_of(step, shapes, sites));
    if (!shape.ok()) return at_step(shape.rejection(), kernel, i);
    if (const auto reason = check_shape(*shape, sites)) return at_step(*reason, kernel, i);
    shapes.push_back(*std::move(shape));
  }
  return shapes;
}

Outcome<Graph> lower(const Kernel& kernel, const SiteSet& sites) {
  auto shapes = infer_shapes(kernel, sites);
  if (!shapes.ok()) return shapes.rejection();
  const Shape& result = (*shapes)[static_cast<std::size_t>(kernel.output)];
  if (const auto reason = check_output(kernel, result, sites)) return *reason;
  if (const auto reason = check_used(kernel)) return *reason;

  Graph graph;
  Tensor input;
  input.name = "x";
  input.role = Role::input;
  input.axes.push_back({AxisKind::batch, Size(Symbol::N)});
  for (const Axis& axis : input_shape()) input.axes.push_back({axis.kind, axis.extent});
  graph.tensors.push_back(std::move(input));

  std::vector<int> tensor_of{0};
  for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
    const Step& step = kernel.steps[i];
    std::vector<int> operands;
    for (int operand : step.operands) operands.push_back(tensor_of[static_cast<std::size_t>(operand)]);
    StageBuilder build(graph, std::move(operands), static_cast<int>(i));
    step.primitive->stages(call_of(step, *shapes, sites), build);
    tensor_of.push_back(build.last());
    graph.tensors[static_cast<std::size_t>(build.last())].name = tensor_name(static_cast<int>(i) + 1);
  }
  graph.output = tensor_of[static_cast<std::size_t>(kernel.output)];
  if (result != output_shape()) {
    StageBuilder build(graph, {}, -1);
    graph.output = copy_to_output(build, graph.output, result);
  }
  graph.tensors[static_cast<std::size_t>(graph.output)].name = "y";
  return graph;
}

Outcome<BoundGraph> lower_at(const Kernel& kernel, const Site& site, std::int64_t batch) {
  Binding binding = site.binding();
  binding.set(Symbol::N, batch);
  for (Symbol symbol : choice_symbols)
    if (kernel.choices.has(symbol)) binding.set(symbol, kernel.choices[symbol]);
  const Binding fit = kernel.fit_at(site);
  for (Symbol symbol : kernel.free_symbols()) {
    if (!fit.has(symbol))
      return Rejection{"every free symbol has a value", fmt::format("{} at {}", symbol_name(symbol), site.str())};
    binding.set(symbol, fit[symbol]);
  }
  auto graph = lower(kernel, SiteSet({site}, kernel.choices));
  if (!graph.ok()) return graph.rejection();
  return bind(*graph, binding);
}

}  // namespace kasimir
