// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/growth.h"

#include "kasimir/base/text.h"
#include "kasimir/kernel/builder.h"

#include <algorithm>
#include <numeric>

namespace kasimir {

void GrowthLimits::check(Catalog catalog) const {
  const auto known = primitive_names(catalog);
  for (const auto* names : {&allow, &forbid, &require})
    for (const std::string& name : *names)
      if (find_primitive(catalog, name) == nullptr)
        throw input_error("unknown primitive `{}`, {}", name, suggestion(name, known));
  for (const std::string& name : require)
    if (std::ranges::find(forbid, name) != forbid.end() ||
        (!allow.empty() && std::ranges::find(allow, name) == allow.end()))
      throw input_error("the primitive `{}` is required and not allowed at once", name);
  if (min_primitives < 1 || max_primitives < min_primitives || max_primitives > 40)
    throw input_error("kernels of {}..{} primitives were asked for; the range must lie within 1..40", min_primitives,
                      max_primitives);
  if (require.size() > static_cast<std::size_t>(max_primitives))
    throw input_error("{} primitives are required in kernels of at most {}", require.size(), max_primitives);
  if (max_width < 1 || max_width > 8)
    throw input_error("a width of {} was asked for; it must lie within 1..8", max_width);
}

Growth::Growth(Catalog allowed, std::span<const SiteLoad> sites, const GrowthLimits& limits, const Budget& budget,
               const SolverOptions& solver, Rng rng)
    : allowed_(allowed),
      loads_(sites.begin(), sites.end()),
      limits_(&limits),
      budget_(&budget),
      solver_(&solver),
      rng_(rng) {
  any_stride_ = std::ranges::any_of(loads_, [](const SiteLoad& load) { return load.site.s > 1; });
  double sum = 0.0;
  for (const Primitive* primitive : allowed_) cumulative_.push_back(sum += primitive->weight);
}

/// g and r are the same numbers at every site: divisors of all channel counts.
void Growth::draw_choices() {
  std::int64_t common = 0;
  for (const SiteLoad& load : loads_) common = std::gcd(std::gcd(common, load.site.ci), load.site.co);
  const auto draw = [&](Symbol symbol, std::initializer_list<std::int64_t> values) {
    std::vector<std::int64_t> possible;
    for (std::int64_t value : values)
      if (common % value == 0) possible.push_back(value);
    kernel_.choices.set(symbol, possible.empty() ? 1 : rng_.pick(possible));
  };
  draw(Symbol::g, {2, 4, 8, 16});
  draw(Symbol::r, {2, 4, 8});
  std::vector<Site> sites;
  for (const SiteLoad& load : loads_) sites.push_back(load.site);
  sites_ = SiteSet(std::move(sites), kernel_.choices);
}

std::vector<int> Growth::open_tensors(const Kernel& kernel) const {
  std::vector<bool> read(kernel.steps.size() + 1, false);
  for (const Step& step : kernel.steps)
    for (int operand : step.operands) read[static_cast<std::size_t>(operand)] = true;
  std::vector<int> open;
  for (std::size_t i = 0; i < read.size(); ++i)
    if (!read[i]) open.push_back(static_cast<int>(i));
  return open;
}

bool Growth::is_output(const Shape& shape) const {
  const Shape wanted = output_shape();
  return shape.size() == wanted.size() && std::ranges::all_of(wanted, [&](const Axis& axis) {
           const int i = find_axis(shape, axis.kind);
           return i >= 0 && sites_.equal(shape[static_cast<std::size_t>(i)].extent, axis.extent);
         });
}

/// Steps that turn a tensor into the output's shape, or into something that can be broadcast onto it: a lower estimate,
/// or, `careful`, one that counts a step for each thing that is to be done.
int Growth::steps_to_ready(const Shape& shape, bool careful) const {
  if (is_output(shape)) return 0;
  if (find_axis(shape, AxisKind::token) >= 0) return careful ? 2 : 1;
  bool windowed = false;
  bool strided = false;
  for (const Axis& axis : shape) {
    windowed = windowed || is_window(axis.kind);
    strided = strided || (is_spatial(axis.kind) && any_stride_ && axis.extent.has(Symbol::s));
  }
  const bool full = is_full(shape);
  const Size channels = extent_of(shape, AxisKind::channel);
  // Missing rows or columns, or channels that divide Co, are filled in by a broadcast, which is counted elsewhere.
  const bool fills = !full && !careful && sites_.whole(Size(Symbol::Co) / channels);
  const bool channels_wrong =
      windowed || find_axis(shape, AxisKind::group) >= 0 || !(fills || sites_.equal(channels, Size(Symbol::Co)));
  // One step can take the stride and set the channels at once, but none that also takes windows away.
  if (strided && channels_wrong) return careful || windowed ? 2 : 1;
  return strided || channels_wrong ? 1 : 0;
}

bool Growth::is_full(const Shape& shape) {
  return find_axis(shape, AxisKind::height) >= 0 && find_axis(shape, AxisKind::width) >= 0;
}

/// Steps that are needed at least, or, `careful`, surely enough. An estimate that is too high would silently remove
/// kernels, one that is too low only costs dead ends: steps are accepted by the first, closing begins by the second.
int Growth::distance(const Kernel& kernel, const std::vector<Shape>& shapes, bool careful) const {
  const auto open = open_tensors(kernel);
  int steps = static_cast<int>(open.size()) - 1;
  bool any_full = false;
  for (int tensor : open) {
    const Shape& shape = shapes[static_cast<std::size_t>(tensor)];
    steps += steps_to_ready(shape, careful);
    any_full = any_full || is_full(shape);
  }
  if (!any_full) {
    // What is left lacks rows or columns: it must be combined with an earlier tensor that has them.
    int nearest = steps_to_ready(shapes[0], careful);
    for (const Shape& shape : shapes)
      if (is_full(shape)) nearest = std::min(nearest, steps_to_ready(shape, careful));
    steps += 1 + nearest;
  }
  int missing = 0;
  for (const std::string& name : limits_->require)
    missing +=
        std::ranges::none_of(kernel.steps, [&](const Step& step) { return step.primitive->name == name; }) ? 1 : 0;
  return std::max(missing, steps);
}

/// The cost with every free symbol at its least useful value: above the upper bound it can only get worse.
std::optional<Rejection> Growth::too_expensive(const Kernel& kernel, const std::vector<Shape>& shapes) const {
  Graph graph;
  Tensor input;
  input.role = Role::input;
  input.axes = {{AxisKind::batch, Size(Symbol::N)}};
  for (const Axis& axis : shapes[0]) input.axes.push_back({axis.kind, axis.extent});
  graph.tensors.push_back(std::move(input));
  std::vector<int> tensor_of{0};
  for (const Step& step : kernel.steps) {
    std::vector<Shape> operand_shapes;
    std::vector<int> operands;
    for (int operand : step.operands) {
      operand_shapes.push_back(shapes[static_cast<std::size_t>(operand)]);
      operands.push_back(tensor_of[static_cast<std::size_t>(operand)]);
    }
    StageBuilder build(graph, std::move(operands), 0);
    step.primitive->stages(Call(*step.primitive, std::move(operand_shapes), step.arguments, sites_), build);
    tensor_of.push_back(build.last());
  }
  const Cost total = cost(graph);
  double sum_macs = 0.0;
  double sum_params = 0.0;
  const std::vector<std::int64_t> least(free_symbol_count, solver_->lane);
  for (std::size_t i = 0; i < loads_.size(); ++i) {
    const double macs = Polynomial(total.macs, sites_.bindings()[i]).at(least);
    const double params = Polynomial(total.params, sites_.bindings()[i]).at(least);
    if (budget_->macs.relative && macs > budget_->macs.high * loads_[i].macs)
      return Rejection{"growth: the least MACs stay within the budget", ""};
    if (budget_->params.relative && params > budget_->params.high * loads_[i].params)
      return Rejection{"growth: the least parameters stay within the budget", ""};
    sum_macs += macs * static_cast<double>(loads_[i].count);
    sum_params += params * static_cast<double>(loads_[i].count);
  }
  if (!budget_->macs.relative && sum_macs > budget_->macs.high)
    return Rejection{"growth: the least MACs stay within the budget", ""};
  if (!budget_->params.relative && sum_params > budget_->params.high)
    return Rejection{"growth: the least parameters stay within the budget", ""};
  return std::nullopt;
}

/// The same step twice, or the same parameterless function twice in a row, only wastes a step.
bool Growth::repeats(const Step& step) const {
  if (std::ranges::find(kernel_.steps, step) != kernel_.steps.end()) return true;
  if (step.operands.size() == 2) return step.operands[0] == step.operands[1];
  const int from = step.operands[0];
  return from > 0 && step.primitive->params.empty() &&
         kernel_.steps[static_cast<std::size_t>(from) - 1].primitive == step.primitive;
}

std::optional<Rejection> Growth::consider(Step step, const std::vector<Substitution>& substitutions, int left,
                                          bool closing) {
  if (repeats(step)) return Rejection{"growth: no step is repeated", ""};
  Kernel next = kernel_;
  next.steps.push_back(std::move(step));
  std::vector<Shape> shapes;
  if (substitutions.empty()) {
    const Step& added = next.steps.back();
    std::vector<Shape> operands;
    for (int operand : added.operands) operands.push_back(shapes_[static_cast<std::size_t>(operand)]);
    auto shape = added.primitive->shape(Call(*added.primitive, std::move(operands), added.arguments, sites_));
    if (!shape.ok()) return shape.rejection();
    AxisSet kinds;
    for (const Axis& axis : *shape) {
      if (kinds.has(axis.kind)) return Rejection{"a tensor has one axis of a kind", ""};
      kinds.add(axis.kind);
      if (!sites_.whole(axis.extent)) return Rejection{"every extent is a whole number at every site", ""};
    }
    shapes = shapes_;
    shapes.push_back(*std::move(shape));
  } else {
    for (const Substitution& substitution : substitutions) substitute(next, substitution);
    auto all = infer_shapes(next, sites_);
    if (!all.ok()) return all.rejection();
    shapes = *std::move(all);
  }
  if (sites_.largest(volume(shapes.back())) > static_cast<double>(solver_->most_elements))
    return Rejection{"memory: no tensor is too large", ""};
  next.output = static_cast<int>(next.steps.size());
  if (distance(next, shapes, false) > left - 1) return Rejection{"growth: the output is still within reach", ""};
  if (closing && distance(next, shapes, true) >= distance(kernel_, shapes_, true))
    return Rejection{"growth: a closing step comes nearer to the output", ""};
  if (static_cast<int>(open_tensors(next).size()) > limits_->max_width)
    return Rejection{"growth: the width is within its limit", ""};
  if (auto reason = too_expensive(next, shapes)) return reason;
  kernel_ = std::move(next);
  shapes_ = std::move(shapes);
  return std::nullopt;
}

std::vector<int> Growth::draw_operands(const Primitive& primitive, bool closing) {
  const auto open = open_tensors(kernel_);
  const auto any = static_cast<int>(shapes_.size());
  const auto draw = [&] {
    const double p = rng_.unit();
    if (closing) return rng_.pick(open);
    if (p < 0.6) return open.back();
    if (p < 0.85) return rng_.pick(open);
    return static_cast<int>(rng_.below(static_cast<std::uint64_t>(any)));
  };
  std::vector<int> operands;
  for (int i = 0; i < primitive.operands; ++i) operands.push_back(draw());
  // Closing, a second operand is what else is open, or else any earlier tensor.
  if (closing && operands.size() == 2 && operands[0] == operands[1]) {
    if (open.size() == 1 || rng_.chance(0.2)) {
      operands[1] = static_cast<int>(rng_.below(static_cast<std::uint64_t>(any)));
    } else {
      while (operands[1] == operands[0]) operands[1] = rng_.pick(open);
    }
  }
  return operands;
}

std::optional<Rejection> Growth::try_primitive(const Primitive& primitive, int left, bool closing) {
  Step step{&primitive, draw_operands(primitive, closing), {}};
  std::vector<const Shape*> shapes;
  for (int operand : step.operands) shapes.push_back(&shapes_[static_cast<std::size_t>(operand)]);
  Proposer proposer(std::move(shapes), sites_, rng_);
  proposer.weights_may_depend_on_resolution = limits_->weights_may_depend_on_resolution;
  proposer.closing = closing;
  proposer.open_symbols = kernel_.free_symbols();
  constexpr std::size_t most_open = 3;  // more unknowns than the budget can tell apart only slow the solver down
  for (int i = 0; i < free_symbol_count && proposer.open_symbols.size() < most_open && !proposer.fresh_symbol; ++i)
    if (std::ranges::find(proposer.open_symbols, free_symbol(i)) == proposer.open_symbols.end())
      proposer.fresh_symbol = free_symbol(i);
  auto draw = primitive.propose(proposer);
  if (!draw.ok()) return draw.rejection();
  step.arguments = std::move(draw->arguments);
  return consider(std::move(step), draw->substitutions, left, closing);
}

bool Growth::grow_step(int left) {
  const auto taken = [&](std::size_t chosen, bool closing) {
    const auto reason = try_primitive(*allowed_[chosen], left, closing);
    if (reason) ++refused_[reason->rule];
    return !reason;
  };
  int free_tries = 24;
  if (distance(kernel_, shapes_, true) >= left) free_tries = 3;
  if (distance(kernel_, shapes_, false) >= left) free_tries = 0;
  for (int i = 0; i < free_tries; ++i) {
    const double at = rng_.unit() * cumulative_.back();
    const auto chosen = static_cast<std::size_t>(std::ranges::upper_bound(cumulative_, at) - cumulative_.begin());
    if (taken(std::min(chosen, allowed_.size() - 1), false)) return true;
  }
  // Every primitive gets its chance to come nearer to the output, in random order, with several operands.
  constexpr int rounds = 4;
  std::vector<std::size_t> order(allowed_.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  for (int round = 0; round < rounds; ++round) {
    for (std::size_t i = order.size(); i > 1; --i) std::swap(order[i - 1], order[rng_.below(i)]);
    for (std::size_t chosen : order)
      if (taken(chosen, true)) return true;
  }
  return false;
}

std::string Growth::stuck_at(int left) const {
  std::string open;
  for (int tensor : open_tensors(kernel_))
    open += (open.empty() ? "" : " and ") + str(shapes_[static_cast<std::size_t>(tensor)]);
  return fmt::format("{} steps left for {}", left, open);
}

Outcome<Kernel> Growth::run() {
  const auto wanted = static_cast<int>(rng_.between(limits_->min_primitives, limits_->max_primitives));
  draw_choices();
  shapes_ = {input_shape()};
  for (int left = wanted; left > 0; --left)
    if (!grow_step(left)) return Rejection{"growth: some step leads on", stuck_at(left)};
  const auto open = open_tensors(kernel_);
  if (open.size() != 1 || !is_output(shapes_[static_cast<std::size_t>(open[0])]))
    return Rejection{"growth: the last step gives the output's shape", str(shapes_[static_cast<std::size_t>(open[0])])};
  for (const std::string& name : limits_->require)
    if (std::ranges::none_of(kernel_.steps, [&](const Step& step) { return step.primitive->name == name; }))
      return Rejection{"growth: every required primitive occurs", name};
  kernel_.output = open[0];
  return kernel_;
}

}  // namespace kasimir
