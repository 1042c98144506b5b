// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/normal_form.h"

namespace kasimir {
namespace {

Identity finish(StepTable& steps, FlatKernel& kernel, RewriteLimits limits, RewriteCounts& fired) {
  sort_nodes(steps, kernel);
  Rewriter(steps, kernel, limits).run(fired);
  sort_nodes(steps, kernel);
  return hash_nodes(steps, kernel);
}

FlatKernel flatten(const Kernel& kernel, StepTable& steps) {
  if (static_cast<int>(kernel.steps.size()) >= FlatKernel::most_nodes)
    throw input_error("the kernel has {} steps; a normal form has at most {}", kernel.steps.size(),
                      FlatKernel::most_nodes - 1);
  const auto shapes = infer_shapes(kernel, steps.sites()).value();
  FlatKernel flat;
  for (const Step& step : kernel.steps) {
    std::array<const Shape*, 2> operands{};
    std::array<std::int16_t, 2> nodes{-1, -1};
    for (std::size_t i = 0; i < step.operands.size(); ++i) {
      operands[i] = &shapes[static_cast<std::size_t>(step.operands[i])];
      nodes[i] = static_cast<std::int16_t>(step.operands[i]);
    }
    const Call call(*step.primitive, operands, step.arguments, steps.sites());
    const StepId id = steps.intern(step_facts(one_step_graph(call), steps.sites()));
    flat.add(steps, id, nodes, static_cast<std::int16_t>(&step - kernel.steps.data()));
  }
  flat.output = kernel.output;
  return flat;
}

/// The kernel whose steps the nodes came from. @pre sort_nodes().
Normalised written(const FlatKernel& flat, const Kernel& from) {
  Normalised normal{from, {}, {}};
  Kernel& kernel = normal.kernel;
  kernel.steps.clear();
  std::array<int, FlatKernel::most_nodes> tensor{};
  for (int i = 0; i < flat.count; ++i) {
    const FlatNode& node = flat[i];
    if (node.step == FlatNode::input) continue;
    Step step = from.steps[static_cast<std::size_t>(node.source)];
    for (std::size_t o = 0; o < step.operands.size(); ++o)
      step.operands[o] = tensor[static_cast<std::size_t>(node.operands[o])];
    kernel.steps.push_back(std::move(step));
    normal.sources.push_back(node.source);
    tensor[static_cast<std::size_t>(i)] = static_cast<int>(kernel.steps.size());
  }
  kernel.output = tensor[static_cast<std::size_t>(flat.output)];
  return normal;
}

}  // namespace

StepId NormalFormer::step(MoveId id) {
  const auto index = static_cast<std::size_t>(id);
  if (index >= of_move_.size()) of_move_.resize(world_->move_count(), -1);
  if (of_move_[index] < 0) of_move_[index] = work_out(id);
  return of_move_[index];
}

/// What a step with one operand does is the same for all extents of the axes that it passes on, so that few of them are
/// read off their stages. (Whether an axis still has the site's stride decides what is done to it.)
StepId NormalFormer::work_out(MoveId id) {
  const Application& applied = world_->application(id);
  StepFacts facts;
  const auto read = [&] { facts = step_facts(world_->graph(id), world_->sites()); };
  if (applied.operands[1] != no_id) {
    read();
    return steps_.intern(std::move(facts));
  }
  const Shape& operand = world_->shape(applied.operands[0]).shape;
  std::uint64_t name = mix_bits(static_cast<std::uint64_t>(world_->move(id).primitive) << 32U |
                                static_cast<std::uint32_t>(applied.arguments));
  for (const Axis& axis : operand)
    name = mix_bits(name ^ (static_cast<std::uint64_t>(axis.kind) << 8U | (axis.extent.has(Symbol::s) ? 1U : 0U)));
  const auto with_extents = [&](AxisMask touched) {
    std::uint64_t key = name;
    for (const Axis& axis : operand)
      if ((touched & axis_bit(axis.kind)) != 0) key = mix_bits(key ^ axis.extent.hash());
    return key;
  };
  const auto [mask, is_new] = touched_.try_emplace(name, AxisMask{0});
  if (!is_new)
    if (const auto found = by_touched_.find(with_extents(mask->second)); found != by_touched_.end())
      return found->second;
  read();
  mask.value() = static_cast<AxisMask>(mask->second | facts.touched());
  const std::uint64_t key = with_extents(mask->second);
  const StepId step = steps_.intern(std::move(facts));
  by_touched_.emplace(key, step);
  return step;
}

Identity NormalFormer::identity(std::span<const GrownStep> grown) {
  FlatKernel kernel;
  for (const GrownStep& one : grown) kernel.output = kernel.add(steps_, step(one.written.move), one.operands, -1);
  return finish(steps_, kernel, {}, fired_);
}

std::optional<Rewrite> NormalFormer::waste(MoveId producer, MoveId consumer) {
  const StepId p = step(producer);
  const StepId c = step(consumer);
  const std::uint64_t key = (static_cast<std::uint64_t>(p) << 32U) | static_cast<std::uint64_t>(c);
  auto found = wastes_.find(key);
  if (found == wastes_.end()) {
    const auto rewrite = pair_waste(steps_, p, c);
    found = wastes_.emplace(key, rewrite ? static_cast<std::int8_t>(*rewrite) : std::int8_t{-1}).first;
  }
  if (found->second < 0) return std::nullopt;
  return static_cast<Rewrite>(found->second);
}

Identity identity(const Kernel& kernel, const SiteSet& sites, bool families) {
  StepTable steps(sites);
  FlatKernel flat = flatten(kernel, steps);
  RewriteCounts fired{};
  return finish(steps, flat, {.families = families}, fired);
}

Normalised normalise(const Kernel& kernel, const SiteSet& sites, bool families) {
  StepTable steps(sites);
  FlatKernel flat = flatten(kernel, steps);
  const FlatKernel unsorted = flat;
  sort_nodes(steps, flat);
  Normalised sorted = written(flat, kernel);
  RewriteCounts fired{};
  Rewriter(steps, flat, {.families = families, .writable = true}).run(fired);
  sort_nodes(steps, flat);
  Normalised normal = written(flat, kernel);
  normal.fired = fired;
  // Views or operands that change places may leave axes in another order, on which the side of a matrix may depend.
  const Identity wanted = identity(kernel, sites, families);
  for (Normalised* each : {&normal, &sorted})
    if (infer_shapes(each->kernel, sites).ok() && identity(each->kernel, sites, families) == wanted)
      return std::move(*each);
  return written(unsorted, kernel);
}

}  // namespace kasimir
