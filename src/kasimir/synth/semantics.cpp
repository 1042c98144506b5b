// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/semantics.h"

#include <algorithm>

namespace kasimir {
namespace {

constexpr std::size_t most_elements = std::size_t{1} << 20;  // of a kernel's tensors together
constexpr std::int64_t rows = 7;
constexpr std::int64_t columns = 8;
constexpr std::size_t no_start = 0;

/// Everything that stages compute with, in two independent hashes.
class GraphHash {
 public:
  void add(std::int64_t value) {
    found_.high = mix_bits(found_.high ^ static_cast<std::uint64_t>(value));
    found_.low = mix_bits(found_.low + static_cast<std::uint64_t>(value) * 0x9E3779B97F4A7C15ULL);
  }
  void add(const BoundCoord& coord) {
    add(static_cast<std::int64_t>(coord.terms.size()));
    for (const auto& [iter, factor] : coord.terms) {
      add(iter);
      add(factor);
    }
    add(coord.offset);
    add(coord.wrap.value_or(0));
  }
  void add(const Rational& value) {
    add(value.num());
    add(value.den());
  }
  void add(const BoundNode& node) {
    add(static_cast<std::int64_t>(node.index()));
    if (const auto* read = std::get_if<BoundRead>(&node)) {
      add(read->tensor);
      for (const BoundCoord& coord : read->at) add(coord);
    } else if (const auto* apply = std::get_if<Apply>(&node)) {
      add(static_cast<std::int64_t>(apply->fn));
      add(apply->a);
      add(apply->b);
    } else {
      add(std::get<Constant>(node).value);
      add(std::get<Constant>(node).half_pi ? 1 : 0);
    }
  }
  void add(const BoundStage& stage) {
    add(stage.out);
    for (const auto& iter : stage.iters) {
      add(static_cast<std::int64_t>(iter.kind));
      add(iter.extent);
    }
    for (const LeftAxis& axis : stage.left) {
      add(static_cast<std::int64_t>(axis.digits.size()));
      for (const int digit : axis.digits) add(digit);
    }
    add(static_cast<std::int64_t>(stage.reduced.size()));
    for (const int reduced : stage.reduced) add(reduced);
    add(static_cast<std::int64_t>(stage.reduce));
    add(stage.factor);
    add((stage.root ? 1 : 0) + (stage.stabiliser ? 2 : 0));
    add(static_cast<std::int64_t>(stage.nodes.size()));
    for (const BoundNode& node : stage.nodes) add(node);
  }
  [[nodiscard]] Fingerprint found() const { return found_; }

 private:
  Fingerprint found_{1, 2};
};

/// A world's shapes have their axes in the order of kinds: the result is laid out so, as the next step reads it.
void sort_axes(BoundGraph& graph) {
  std::ranges::stable_sort(graph.tensors[static_cast<std::size_t>(graph.output)].axes, {}, &BasicAxis<Bound>::kind);
  std::ranges::stable_sort(graph.stages.back().left, {}, &LeftAxis::kind);
}

Fingerprint hash_graph(const BoundGraph& graph) {
  GraphHash hash;
  hash.add(graph.output);
  for (const BoundTensor& tensor : graph.tensors) {
    hash.add(static_cast<std::int64_t>(tensor.role) + 8 * static_cast<std::int64_t>(tensor.weight_role));
    hash.add(static_cast<std::int64_t>(tensor.axes.size()));
    for (const auto& axis : tensor.axes) {
      hash.add(static_cast<std::int64_t>(axis.kind));
      hash.add(axis.extent);
    }
  }
  for (const BoundStage& stage : graph.stages) hash.add(stage);
  return hash.found();
}

/// A hash of the symbolic sizes of a step's weights, whatever their order and the names of free symbols; 0 of none.
std::uint64_t hash_of_weight_sizes(const Graph& step) {
  std::uint64_t sum = 0;
  for (const Tensor& tensor : step.tensors) {
    if (tensor.role != Role::weight) continue;
    Size volume(1);
    for (const auto& axis : tensor.axes) volume *= axis.extent;
    for (int i = 1; i < free_symbol_count; ++i) volume = volume.substitute(free_symbol(i), Size(free_symbol(0)));
    sum += mix_bits(volume.hash());
  }
  return sum;
}

}  // namespace

Semantics::Semantics(const World& world) : world_(&world), ties_(fingerprint_seed) {
  // Channels that groups divide, and free sizes that are multiples of what a group or a shuffle asks: the smallest
  // first. Free sizes are no multiples of one another, so that none is mistaken for another.
  constexpr std::pair<std::int64_t, std::int64_t> sizes[] = {{8, 2},  {8, 4},  {16, 2},  {16, 4},  {8, 8},  {16, 8},
                                                             {32, 4}, {32, 8}, {16, 16}, {32, 16}, {64, 8}, {64, 16}};
  constexpr std::int64_t apart[] = {3, 5, 7};
  std::vector<std::int64_t> seen;
  for (const auto& [channels, unit] : sizes) {
    Place place{{}, std::ranges::find(seen, channels) != seen.end()};
    seen.push_back(channels);
    place.binding.set(Symbol::N, 1).set(Symbol::H, rows).set(Symbol::W, columns).set(Symbol::Co, channels);
    // Where a kernel may ask for as many groups as channels come in, these divide those that go out.
    const bool widens = std::ranges::all_of(world.sites().sites(), [](const Site& at) { return at.co % at.ci == 0; });
    place.binding.set(Symbol::Ci, world.same_channels() ? channels : widens ? channels / 2 : 2 * channels);
    place.binding.set(Symbol::s, world.any_stride() ? 2 : 1);
    for (int i = 0; i < World::most_open; ++i) place.binding.set(free_symbol(i), unit * apart[i]);
    places_.push_back(place);
  }
  known_.resize(places_.size());
}

Semantics::Programs Semantics::compile(const BoundGraph& graph) {
  Programs result;
  result.starts.assign(graph.tensors.size(), no_start);
  for (std::size_t i = 0; i < graph.tensors.size(); ++i) {
    if (graph.tensors[i].role == Role::input) continue;
    result.starts[i] = static_cast<std::uint32_t>(result.memory);
    result.memory += field_room(static_cast<std::size_t>(elements(graph.tensors[i])));
    if (result.memory > most_elements) return result;
  }
  for (const BoundStage& stage : graph.stages) {
    result.stages.emplace_back(graph, stage);
    result.outs.push_back(stage.out);
  }
  result.result = graph.output;
  result.size = static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(graph.output)]));
  result.legal = true;
  return result;
}

/// Many steps are the same at a tiny site: their programs are prepared once.
std::int32_t Semantics::find_or_compile(const Graph& step, const Binding& binding) {
  constexpr Fingerprint none{};  // of what is not whole there
  const auto bound = bind(step, binding);
  BoundGraph graph = bound.ok() ? freeze(*bound) : BoundGraph{};
  if (bound.ok()) sort_axes(graph);
  const Fingerprint key = bound.ok() ? hash_graph(graph) : none;
  if (const auto found = by_graph_.find(key); found != by_graph_.end()) return found->second;
  const auto number = static_cast<std::int32_t>(programs_.size());
  programs_.push_back(bound.ok() ? compile(graph) : Programs{});
  by_graph_.emplace(key, number);
  return number;
}

const Semantics::Programs& Semantics::programs(MoveId move, std::size_t place) {
  auto& known = known_[place];
  const auto at = static_cast<std::size_t>(move);
  if (known.size() <= at) known.resize(world_->move_count(), -1);
  if (known[at] < 0) known[at] = find_or_compile(world_->graph(move), places_[place].binding);
  return programs_[static_cast<std::size_t>(known[at])];
}

std::uint64_t Semantics::weight_sizes(MoveId move) {
  if (!world_->move(move).weighted) return 0;
  const auto at = static_cast<std::size_t>(move);
  if (weight_sizes_.size() <= at) weight_sizes_.resize(world_->move_count(), unknown);
  if (weight_sizes_[at] == unknown) weight_sizes_[at] = hash_of_weight_sizes(world_->graph(move));
  return weight_sizes_[at];
}

std::uint64_t Semantics::weight_sizes(std::span<const GrownStep> steps) {
  std::uint64_t sum = 0;
  for (const GrownStep& step : steps) sum += weight_sizes(step.written.move);
  return sum;
}

void Semantics::run(const Programs& step, std::array<const std::uint32_t*, 2> operands, std::uint32_t* result) {
  if (step_memory_.size() < step.memory) step_memory_.resize(step.memory);
  pointers_.assign(step.starts.size(), nullptr);
  for (std::size_t i = 0; i < operands.size() && i < pointers_.size(); ++i) pointers_[i] = operands[i];
  for (std::size_t k = 0; k < step.stages.size(); ++k) {
    const FieldProgram& program = step.stages[k];
    operands_.clear();
    for (const int tensor : program.reads()) operands_.push_back(pointers_[static_cast<std::size_t>(tensor)]);
    if (!program.weights().empty()) {
      const std::uint64_t hash = program.hash_operands(operands_);
      for (std::size_t i = 0; i < program.weights().size(); ++i) {
        const FieldWeight& weight = program.weights()[i];
        if (operands_[weight.operand] != nullptr) continue;  // another stage reads it, too
        const auto tensor = static_cast<std::size_t>(program.reads()[weight.operand]);
        std::uint32_t* const values = step_memory_.data() + step.starts[tensor];
        fill_values(ties_.draw(program, i, hash), values, weight.size);
        pointers_[tensor] = operands_[weight.operand] = values;
      }
    }
    const auto out = static_cast<std::size_t>(step.outs[k]);
    std::uint32_t* const to = step.outs[k] == step.result ? result : step_memory_.data() + step.starts[out];
    program.run(operands_, to, scratch_);
    pointers_[out] = to;
  }
}

std::optional<Fingerprint> Semantics::fingerprint(std::span<const GrownStep> steps, int open_symbols) {
  std::array<const Programs*, GrowthLimits::most_primitives> of{};
  std::size_t chosen = 0;
  std::size_t memory = 0;
  const auto fits = [&](std::size_t place) {
    if (open_symbols == 0 && places_[place].for_free_symbols) return false;
    memory = 0;
    for (std::size_t i = 0; i < steps.size(); ++i) {
      of[i] = &programs(steps[i].written.move, place);
      if (!of[i]->legal) return false;
      memory += field_room(of[i]->size);
    }
    return memory <= most_elements;
  };
  while (chosen < places_.size() && !fits(chosen)) ++chosen;
  if (chosen == places_.size()) return std::nullopt;

  const Binding& binding = places_[chosen].binding;
  const auto inputs = static_cast<std::size_t>(binding[Symbol::Ci] * binding[Symbol::H] * binding[Symbol::W] *
                                               binding[Symbol::s] * binding[Symbol::s]);
  if (input_.size() < field_room(inputs)) input_.resize(field_room(inputs));
  fill_values(input_seed(fingerprint_seed, 0), input_.data(), inputs);
  if (memory_.size() < memory) memory_.resize(memory);
  std::array<const std::uint32_t*, GrowthLimits::most_primitives + 1> tensor{input_.data()};
  std::uint32_t* next = memory_.data();
  ties_.clear();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::array<const std::uint32_t*, 2> operands{};
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (steps[i].operands[k] >= 0) operands[k] = tensor[static_cast<std::size_t>(steps[i].operands[k])];
    run(*of[i], operands, next);
    tensor[i + 1] = next;
    next += field_room(of[i]->size);
  }
  Fingerprint found = hash_values(tensor[steps.size()], of[steps.size() - 1]->size);
  const std::uint64_t sizes = chosen + weight_sizes(steps);
  found.high = mix_bits(found.high ^ mix_bits(sizes));
  found.low = mix_bits(found.low ^ mix_bits(~sizes));
  return found;
}

}  // namespace kasimir
