// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/semantics.h"

#include <algorithm>
#include <bit>

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

/// The sizes of a step that must be whole wherever it is evaluated: binding decides about offsets.
std::vector<Size> sizes_of(const Graph& step) {
  std::vector<Size> sizes;
  const auto add = [&](const Size& size) {
    if (!size.is_number() && std::ranges::find(sizes, size) == sizes.end()) sizes.push_back(size);
  };
  for (const Tensor& tensor : step.tensors)
    for (const auto& axis : tensor.axes) add(axis.extent);
  for (const Stage& stage : step.stages) {
    for (const Iter& iter : stage.iters) add(iter.extent);
    for (const auto& node : stage.nodes) {
      const auto* read = std::get_if<BasicRead<Symbolic>>(&node);
      if (read == nullptr) continue;
      for (const Coord& coord : read->at) {
        for (const auto& [iter, factor] : coord.terms) add(factor);
        if (coord.wrap) add(*coord.wrap);
      }
    }
  }
  return sizes;
}

/// Values for a free symbol, in the order in which they are tried: such that those of different symbols are no
/// multiples of one another, nor of the channels, then such that groups divide, and that divide or are divided.
constexpr std::array<std::array<std::int64_t, 15>, World::most_open> free_values{
    {{6, 12, 24, 4, 16, 48, 2, 32, 8, 64, 96, 128, 1, 256, 36},
     {10, 20, 40, 4, 16, 80, 2, 32, 8, 64, 160, 128, 1, 256, 12},
     {14, 28, 56, 4, 16, 112, 2, 32, 8, 64, 224, 128, 1, 256, 24}}};

}  // namespace

Semantics::Semantics(const World& world) : world_(&world), ties_(fingerprint_seed) {
  static_assert(free_values[0].size() == most_values);
  // Where a kernel may ask for as many groups as channels come in, these divide those that go out.
  const bool widens = std::ranges::all_of(world.sites().sites(), [](const Site& at) { return at.co % at.ci == 0; });
  std::size_t i = 0;
  for (const std::int64_t channels : {8, 16, 32, 64, 128, 256})
    channels_[i++] = {world.same_channels() ? channels : widens ? channels / 2 : 2 * channels, channels};
  place_.binding.set(Symbol::N, 1).set(Symbol::H, rows).set(Symbol::W, columns);
  place_.binding.set(Symbol::s, world.any_stride() ? 2 : 1);
}

std::uint64_t Semantics::Place::key(std::uint8_t symbols) const {
  std::uint64_t key = channels;
  for (std::size_t k = 0; k < values.size(); ++k) key = key << 8U | ((symbols >> k & 1U) != 0 ? values[k] + 1U : 0U);
  return key;
}

Semantics::MoveSizes& Semantics::sizes(MoveId move) {
  const auto at = static_cast<std::size_t>(move);
  if (known_.size() <= at) known_.resize(world_->move_count(), -1);
  if (known_[at] >= 0) return sizes_[static_cast<std::size_t>(known_[at])];
  known_[at] = static_cast<std::int32_t>(sizes_.size());
  MoveSizes& found = sizes_.emplace_back();
  found.graph = world_->graph(move);
  found.sizes = sizes_of(*found.graph);
  for (const Size& size : found.sizes)
    for (int k = 0; k < World::most_open; ++k)
      if (size.has(free_symbol(k))) found.symbols |= static_cast<std::uint8_t>(1U << static_cast<unsigned>(k));
  found.weights = hash_of_weight_sizes(*found.graph);
  found.programs.fill(-1);
  return found;
}

/// Whether all sizes of the move are whole at the place; remembered for moves with one free symbol or none.
bool Semantics::is_whole(MoveSizes& move, const Place& place) {
  const auto test = [&] {
    return std::ranges::all_of(move.sizes, [&](const Size& size) { return size.whole_at(place.binding); });
  };
  if (std::popcount(move.symbols) > 1) return test();
  const std::size_t value =
      move.symbols == 0 ? 0 : place.values[static_cast<std::size_t>(std::countr_zero(move.symbols))];
  const auto bit = static_cast<std::uint16_t>(1U << value);
  if ((move.tried[place.channels] & bit) == 0) {
    move.tried[place.channels] |= bit;
    if (test()) move.whole[place.channels] |= bit;
  }
  return (move.whole[place.channels] & bit) != 0;
}

/// Chooses values for the symbols from `symbol` on; -1: the channels have just been chosen.
bool Semantics::choose(std::span<const GrownStep> steps, int symbol, int open_symbols, bool distinct) {
  // What depends on no later symbol is decided as early as possible.
  const unsigned last = symbol < 0 ? 0U : 1U << static_cast<unsigned>(symbol);
  for (const GrownStep& step : steps) {
    MoveSizes& move = sizes(step.written.move);
    if (std::bit_floor(unsigned{move.symbols}) == last && !is_whole(move, place_)) return false;
  }
  if (++symbol == open_symbols) return take(steps);
  const auto k = static_cast<std::size_t>(symbol);
  for (std::size_t value = 0; value < most_values; ++value) {
    const std::int64_t number = free_values[k][value];
    bool repeated = false;
    for (std::size_t earlier = 0; earlier < k; ++earlier)
      repeated = repeated || free_values[earlier][place_.values[earlier]] == number;
    if (repeated && distinct) continue;
    if (other_than_ && other_than_->values[k] == value) continue;
    place_.values[k] = static_cast<std::uint8_t>(value);
    place_.binding.set(free_symbol(symbol), number);
    if (choose(steps, symbol, open_symbols, distinct)) return true;
  }
  return false;
}

/// Whether the kernel can be evaluated at the place.
bool Semantics::take(std::span<const GrownStep> steps) {
  result_memory_ = 0;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    chosen_[i] = &programs_[static_cast<std::size_t>(programs(steps[i].written.move))];
    if (!chosen_[i]->legal) return false;
    result_memory_ += field_room(chosen_[i]->size);
    // Programs lie scattered in more memory than a cache holds: they come while others are looked for.
    for (const FieldProgram& program : chosen_[i]->stages)
      for (std::size_t at = 0; at < sizeof program; at += 64)
        __builtin_prefetch(reinterpret_cast<const char*>(&program) + at);
  }
  return result_memory_ <= most_elements;
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
    result.stages.emplace_back(graph, stage, tables_);
    result.outs.push_back(stage.out);
  }
  result.result = graph.output;
  result.size = static_cast<std::size_t>(elements(graph.tensors[static_cast<std::size_t>(graph.output)]));
  result.legal = true;
  return result;
}

/// Many steps are the same at a tiny site: their programs are prepared once.
std::int32_t Semantics::find_or_compile(const Graph& step) {
  constexpr Fingerprint none{};  // of what is not whole there
  const auto bound = bind(step, place_.binding);
  BoundGraph graph = bound.ok() ? freeze(*bound) : BoundGraph{};
  if (bound.ok()) sort_axes(graph);
  const Fingerprint key = bound.ok() ? hash_graph(graph) : none;
  if (const auto found = by_graph_.find(key); found != by_graph_.end()) return found->second;
  const auto number = static_cast<std::int32_t>(programs_.size());
  programs_.push_back(bound.ok() ? compile(graph) : Programs{});
  by_graph_.emplace(key, number);
  return number;
}

/// Of the move at the place.
std::int32_t Semantics::programs(MoveId move) {
  MoveSizes& wanted = sizes(move);
  std::int32_t* known = &wanted.programs[place_.channels];
  if (wanted.symbols != 0) {
    const std::uint64_t key =
        static_cast<std::uint64_t>(static_cast<std::uint32_t>(move)) << 32U | place_.key(wanted.symbols);
    known = &by_place_.try_emplace(key, -1).first.value();
  }
  if (*known >= 0) return *known;
  *known = find_or_compile(wanted.graph ? *wanted.graph : world_->graph(move));
  wanted.graph.reset();
  return *known;
}

std::uint64_t Semantics::weight_sizes(std::span<const GrownStep> steps) {
  std::uint64_t sum = 0;
  for (const GrownStep& step : steps)
    if (world_->move(step.written.move).weighted) sum += sizes(step.written.move).weights;
  return sum;
}

/// The step of the kernel at hand; `again`: with the weights that it had.
void Semantics::run(std::size_t number, std::array<const std::uint32_t*, 2> operands, std::uint32_t* result,
                    bool again) {
  const Programs& step = *chosen_[number];
  if (step_memory_.size() < step.memory) step_memory_.resize(step.memory);
  pointers_.assign(step.starts.size(), nullptr);
  for (std::size_t i = 0; i < operands.size() && i < pointers_.size(); ++i) pointers_[i] = operands[i];
  if (!again) first_seed_[number] = seeds_.size();
  std::size_t seed = first_seed_[number];
  for (std::size_t k = 0; k < step.stages.size(); ++k) {
    const FieldProgram& program = step.stages[k];
    operands_.clear();
    for (const int tensor : program.reads()) operands_.push_back(pointers_[static_cast<std::size_t>(tensor)]);
    if (!program.weights().empty()) {
      const std::uint64_t hash = again ? 0 : program.hash_operands(operands_);
      for (std::size_t i = 0; i < program.weights().size(); ++i) {
        const FieldWeight& weight = program.weights()[i];
        if (operands_[weight.operand] != nullptr) continue;  // another stage reads it, too
        if (!again) seeds_.push_back(ties_.draw(program, i, hash));
        const auto tensor = static_cast<std::size_t>(program.reads()[weight.operand]);
        std::uint32_t* const values = step_memory_.data() + step.starts[tensor];
        fill_values(seeds_[seed++], values, weight.size);
        pointers_[tensor] = operands_[weight.operand] = values;
      }
    }
    const auto out = static_cast<std::size_t>(step.outs[k]);
    std::uint32_t* const to = step.outs[k] == step.result ? result : step_memory_.data() + step.starts[out];
    program.run(operands_, to, scratch_);
    pointers_[out] = to;
  }
}

/// The smallest place at which the kernel can be evaluated.
bool Semantics::find_place(std::span<const GrownStep> steps, int open_symbols, std::size_t least_channels) {
  const auto anywhere = [&](bool distinct) {
    for (std::size_t channels = least_channels; channels < most_channels; ++channels) {
      place_.channels = channels;
      place_.binding.set(Symbol::Ci, channels_[channels].first).set(Symbol::Co, channels_[channels].second);
      if (choose(steps, no_id, open_symbols, distinct)) return true;
    }
    return false;
  };
  return anywhere(true) || (open_symbols > 1 && anywhere(false));
}

std::size_t Semantics::input_size() const {
  const Binding& at = place_.binding;
  return static_cast<std::size_t>(at[Symbol::Ci] * at[Symbol::H] * at[Symbol::W] * at[Symbol::s] * at[Symbol::s]);
}

/// All steps at the place. An even input has the same values at every position.
void Semantics::evaluate(std::span<const GrownStep> steps, std::uint64_t seed, bool even_input) {
  const std::size_t inputs = input_size();
  if (input_.size() < field_room(inputs)) input_.resize(field_room(inputs));
  fill_values(input_seed(seed, 0), input_.data(), inputs);
  const std::size_t positions = inputs / static_cast<std::size_t>(place_.binding[Symbol::Ci]);
  for (std::size_t i = 0; i < inputs && even_input; ++i) input_[i] = input_[i - i % positions];
  if (memory_.size() < result_memory_) memory_.resize(result_memory_);
  tensors_[0] = input_.data();
  std::uint32_t* next = memory_.data();
  ties_ = WeightTies(seed);
  seeds_.clear();
  evaluated_.clear();
  for (std::size_t i = 0; i < steps.size(); ++i) {
    std::array<const std::uint32_t*, 2> operands{};
    for (std::size_t k = 0; k < operands.size(); ++k)
      if (steps[i].operands[k] >= 0) operands[k] = tensors_[static_cast<std::size_t>(steps[i].operands[k])];
    run(i, operands, next, false);
    tensors_[i + 1] = next;
    next += field_room(chosen_[i]->size);
  }
}

/// Whether the values at hand are those of the fingerprint of these steps, at the place at hand.
bool Semantics::is_evaluated(std::span<const GrownStep> steps) const {
  const auto same = [](const GrownStep& a, const GrownStep& b) {
    return a.written.move == b.written.move && a.operands == b.operands;
  };
  return place_.channels == evaluated_at_.channels && place_.values == evaluated_at_.values &&
         std::ranges::equal(steps, evaluated_, same);
}

std::optional<Fingerprint> Semantics::fingerprint(std::span<const GrownStep> steps, int open_symbols) {
  if (!find_place(steps, open_symbols, 0)) return std::nullopt;
  evaluate(steps, fingerprint_seed, false);
  evaluated_.assign(steps.begin(), steps.end());
  evaluated_at_ = place_;
  Fingerprint found = hash_values(tensors_[steps.size()], chosen_[steps.size() - 1]->size);
  const std::uint64_t where = place_.key(static_cast<std::uint8_t>((1U << static_cast<unsigned>(open_symbols)) - 1U));
  const std::uint64_t sizes = mix_bits(where) + weight_sizes(steps);
  found.high = mix_bits(found.high ^ mix_bits(sizes));
  found.low = mix_bits(found.low ^ mix_bits(~sizes));
  return found;
}

}  // namespace kasimir
