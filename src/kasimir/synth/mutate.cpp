// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/moves.h"
#include "kasimir/synth/replay.h"

#include <algorithm>
#include <numeric>

namespace kasimir {
namespace {

/// Proposes edits of one parent. Whether what they give is legal is asked later.
class Mutator {
 public:
  Mutator(Growth& growth, const Kernel& parent, std::span<const GrownStep> steps, int choice)
      : growth_(&growth),
        world_(&growth.world()),
        parent_(&parent),
        steps_(steps),
        choice_(choice),
        open_(open_symbols(growth.world(), steps)) {}

  /// Changes the sketch of the parent, or the choice; false if nothing was found to change.
  bool edit(Mutation kind, Rng& rng, Sketch& sketch, int& choice) {
    switch (kind) {
      case Mutation::insert:
        return insert(rng, sketch);
      case Mutation::remove:
        return remove(rng, sketch);
      case Mutation::replace:
        return replace(rng, sketch);
      case Mutation::rewire:
        return rewire(rng, sketch);
      case Mutation::resize:
        return resize(rng, sketch, choice);
      case Mutation::change:
        return change(rng, sketch);
    }
    return false;
  }

 private:
  using Tensors = std::array<std::int16_t, 2>;

  [[nodiscard]] ShapeId shape_of(int tensor) const {
    return shapes_of(*world_, steps_, {static_cast<std::int16_t>(tensor), -1})[0];
  }
  [[nodiscard]] bool is_binary(int primitive) const {
    return world_->catalog()[static_cast<std::size_t>(primitive)]->operands == 2;
  }
  static std::int16_t below(Rng& rng, int count) {
    return static_cast<std::int16_t>(rng.below(static_cast<std::uint64_t>(count)));
  }
  std::size_t draw_step_number(Rng& rng) const { return rng.below(steps_.size()); }

  /// The primitive on these tensors with arguments from its offers; nothing if they are illegal or need another symbol
  /// to have a value.
  std::optional<Sketch::Step> draw(Rng& rng, int primitive, Tensors operands) {
    if (operands[0] == operands[1]) return std::nullopt;
    const Operands shapes = shapes_of(*world_, steps_, operands);
    const MoveTable table = world_->table(primitive, shapes, open_);
    if (table.ways == 0) return std::nullopt;
    const DrawnMove drawn = world_->draw(table, rng);
    if (world_->way(drawn).substitutes) return std::nullopt;
    const WrittenMove written = world_->resolve(primitive, shapes, table, drawn, choice_);
    if (!world_->move(written.move).legal()) return std::nullopt;
    return Sketch::Step{primitive, written.arguments, operands};
  }

  /// A second operand for a step on the tensor, among those up to it, on either side.
  std::optional<Tensors> with_another(Rng& rng, std::int16_t tensor, int most) {
    if (most == 0) return std::nullopt;
    std::int16_t other = below(rng, most);
    if (other >= tensor) ++other;
    return rng.chance(0.5) ? Tensors{tensor, other} : Tensors{other, tensor};
  }

  bool insert(Rng& rng, Sketch& sketch);
  bool remove(Rng& rng, Sketch& sketch);
  bool replace(Rng& rng, Sketch& sketch);
  bool rewire(Rng& rng, Sketch& sketch);
  bool change(Rng& rng, Sketch& sketch);
  bool resize(Rng& rng, Sketch& sketch, int& choice);
  bool choose_again(Rng& rng, int& choice) const;
  bool give_value(Rng& rng, Sketch& sketch);
  bool take_value(Rng& rng, Sketch& sketch);
  std::vector<Sketch::Step> draw_composite(Rng& rng, std::size_t number, std::int16_t tensor);

  Growth* growth_;
  World* world_;
  const Kernel* parent_;
  std::span<const GrownStep> steps_;
  int choice_;
  int open_;
};

std::vector<Sketch::Step> Mutator::draw_composite(Rng& rng, std::size_t number, std::int16_t tensor) {
  std::vector<Sketch::Step> steps;
  DrawnComposite drawn;
  if (!growth_->composites().draw(number, rng, *world_, shape_of(tensor), open_, drawn)) return steps;
  for (int i = 0; i < drawn.count; ++i) {
    const auto& step = drawn.steps[static_cast<std::size_t>(i)];
    Tensors operands = step.operands;
    // Result 1 is the tensor behind the one that the composite is put on.
    for (std::int16_t& operand : operands)
      if (operand >= 0) operand = static_cast<std::int16_t>(operand + tensor);
    steps.push_back({step.primitive, step.arguments, operands});
  }
  return steps;
}

bool Mutator::insert(Rng& rng, Sketch& sketch) {
  const std::int16_t tensor = below(rng, static_cast<int>(steps_.size()) + 1);
  const int kind = growth_->draw_kind(rng);
  const int primitives = static_cast<int>(world_->catalog().size());
  std::vector<Sketch::Step> more;
  if (kind >= primitives) {
    more = draw_composite(rng, static_cast<std::size_t>(kind - primitives), tensor);
  } else {
    std::optional<Tensors> operands{{tensor, -1}};
    if (is_binary(kind)) operands = with_another(rng, tensor, tensor);
    if (!operands) return false;
    if (const auto step = draw(rng, kind, *operands)) more.push_back(*step);
  }
  if (more.empty()) return false;
  const int from = tensor + static_cast<int>(more.size()) + 1;
  const int result = from - 1;
  sketch.insert(tensor, more);
  std::vector<int> readers;
  for (int i = from; i <= static_cast<int>(sketch.steps.size()); ++i)
    if (std::ranges::find(sketch.steps[static_cast<std::size_t>(i) - 1].operands, tensor) !=
        sketch.steps[static_cast<std::size_t>(i) - 1].operands.end())
      readers.push_back(i);
  constexpr double all = 0.6;
  if (readers.size() < 2 || rng.chance(all)) {
    sketch.redirect(tensor, result, from);
  } else {
    auto& step = sketch.steps[static_cast<std::size_t>(rng.pick(readers)) - 1];
    std::ranges::replace(step.operands, tensor, static_cast<std::int16_t>(result));
  }
  return true;
}

bool Mutator::remove(Rng& rng, Sketch& sketch) {
  const std::size_t k = draw_step_number(rng);
  const int tensor = static_cast<int>(k) + 1;
  Tensors operands = steps_[k].operands;
  if (operands[1] >= 0 && rng.chance(0.5)) std::swap(operands[0], operands[1]);
  // Of two operands the one that fits.
  if (operands[1] >= 0 && shape_of(operands[0]) != shape_of(tensor) && shape_of(operands[1]) == shape_of(tensor))
    std::swap(operands[0], operands[1]);
  sketch.redirect(tensor, operands[0]);
  sketch.drop_unread();
  return true;
}

bool Mutator::replace(Rng& rng, Sketch& sketch) {
  const std::size_t k = draw_step_number(rng);
  const int kind = growth_->draw_kind(rng);
  const Tensors old = steps_[k].operands;
  if (kind >= static_cast<int>(world_->catalog().size()) || kind == sketch.steps[k].primitive) return false;
  const std::int16_t first = old[1] >= 0 && rng.chance(0.5) ? old[1] : old[0];
  std::optional<Tensors> operands{{first, -1}};
  if (is_binary(kind)) operands = old[1] >= 0 ? old : with_another(rng, first, static_cast<int>(k));
  if (!operands) return false;
  const auto step = draw(rng, kind, *operands);
  if (!step) return false;
  sketch.steps[k] = *step;
  sketch.drop_unread();
  return true;
}

bool Mutator::rewire(Rng& rng, Sketch& sketch) {
  const std::size_t k = draw_step_number(rng);
  Tensors& operands = sketch.steps[k].operands;
  constexpr double exchanged = 0.15;
  if (operands[1] >= 0 && rng.chance(exchanged)) {
    std::swap(operands[0], operands[1]);
    return true;
  }
  std::int16_t& operand = operands[1] >= 0 && rng.chance(0.5) ? operands[1] : operands[0];
  std::vector<std::int16_t> fitting;
  std::vector<std::int16_t> others;
  for (int tensor = 0; tensor <= static_cast<int>(k); ++tensor) {
    if (std::ranges::find(operands, static_cast<std::int16_t>(tensor)) != operands.end()) continue;
    (shape_of(tensor) == shape_of(operand) ? fitting : others).push_back(static_cast<std::int16_t>(tensor));
  }
  constexpr double prefer_fitting = 0.8;
  auto& from = !fitting.empty() && (others.empty() || rng.chance(prefer_fitting)) ? fitting : others;
  if (from.empty()) return false;
  operand = rng.pick(from);
  sketch.drop_unread();
  return true;
}

bool Mutator::change(Rng& rng, Sketch& sketch) {
  const std::size_t k = draw_step_number(rng);
  Sketch::Step& step = sketch.steps[k];
  const auto drawn = draw(rng, step.primitive, step.operands);
  if (!drawn || drawn->arguments == step.arguments) return false;
  const std::vector<Argument>& now = world_->arguments(step.arguments);
  const std::vector<Argument>& then = world_->arguments(drawn->arguments);
  std::vector<std::size_t> differing;
  for (std::size_t i = 0; i < now.size(); ++i)
    if (now[i] != then[i]) differing.push_back(i);
  std::vector<Argument> mixed = now;
  const std::size_t chosen = rng.pick(differing);
  mixed[chosen] = then[chosen];
  // Arguments may depend on one another: half the time all of them are new.
  step.arguments = rng.chance(0.5) ? drawn->arguments : world_->intern(mixed);
  return true;
}

bool Mutator::choose_again(Rng& rng, int& choice) const {
  const auto& choices = world_->options().choices;
  const auto of = [&](int number) { return used_choices(parent_->steps, choices[static_cast<std::size_t>(number)]); };
  choice = below(rng, static_cast<int>(choices.size()));
  return of(choice) != of(choice_);
}

/// A free symbol becomes a width that is given, or another free symbol.
bool Mutator::give_value(Rng& rng, Sketch& sketch) {
  if (open_ == 0) return false;
  const int symbol = below(rng, open_);
  std::vector<Size> widths{Size(Symbol::Co), Size(Symbol::Co) / Size(Symbol::r)};
  for (int i = 0; i < open_; ++i)
    if (i != symbol) widths.emplace_back(free_symbol(i));
  const Substitution by{free_symbol(symbol), rng.pick(widths)};
  sketch.substitute(*world_, {&by, 1});
  return true;
}

/// A width that is given becomes free wherever it occurs; but not all that are as wide as the output.
bool Mutator::take_value(Rng& rng, Sketch& sketch) {
  if (open_ == World::most_open) return false;
  std::vector<std::pair<std::size_t, Size>> widths;
  for (std::size_t i = 0; i < sketch.steps.size(); ++i)
    for (const Argument& argument : world_->arguments(sketch.steps[i].arguments))
      for_each_size(argument, [&](const Size& size) {
        if (size.power(Symbol::Co) == 1 || size.power(Symbol::Ci) == 1) widths.emplace_back(i, size);
      });
  if (widths.empty()) return false;
  const auto [step, width] = rng.pick(widths);
  const bool everywhere = !world_->sites().equal(width, Size(Symbol::Co));
  for (std::size_t i = 0; i < sketch.steps.size(); ++i) {
    if (!everywhere && i != step) continue;
    std::vector<Argument> arguments = world_->arguments(sketch.steps[i].arguments);
    for (Argument& argument : arguments)
      for_each_size(argument, [&](Size& size) {
        if (size == width) size = Size(free_symbol(open_));
      });
    sketch.steps[i].arguments = world_->intern(arguments);
  }
  return true;
}

bool Mutator::resize(Rng& rng, Sketch& sketch, int& choice) {
  switch (rng.below(3)) {
    case 0:
      return choose_again(rng, choice);
    case 1:
      return give_value(rng, sketch);
    default:
      return take_value(rng, sketch);
  }
}

Mutation draw_kind(Rng& rng, const MoveOptions& options) {
  const double total = std::accumulate(options.weights.begin(), options.weights.end(), 0.0);
  double at = rng.unit() * total;
  std::size_t kind = 0;
  while (kind + 1 < mutation_count && (at -= options.weights[kind]) >= 0.0) ++kind;
  return static_cast<Mutation>(kind);
}

}  // namespace

std::string_view mutation_name(Mutation mutation) {
  constexpr std::array<std::string_view, mutation_count> names{"insert", "remove", "replace",
                                                               "rewire", "resize", "change"};
  return names[static_cast<std::size_t>(mutation)];
}

void BrokenRules::add(std::string rule, std::string with) {
  ++tries_;
  const auto found = std::ranges::find(entries_, rule, [](const Entry& entry) { return entry.reason.rule; });
  if (found != entries_.end()) {
    ++found->count;
  } else {
    entries_.push_back({{std::move(rule), std::move(with)}, 1});
  }
}

Rejection BrokenRules::most_frequent() const {
  const Entry& most = *std::ranges::max_element(entries_, {}, &Entry::count);
  return {most.reason.rule, fmt::format("{} of {} tries{}{}", most.count, tries_, most.reason.with.empty() ? "" : ", ",
                                        most.reason.with)};
}

std::optional<Rejection> refused_child(const Sampler& sampler, SampleMemory& memory,
                                       std::span<const Identity> parents) {
  if (std::ranges::find(parents, memory.identity()) != parents.end())
    return Rejection{"moves: the normal form is another one", ""};
  const FitFailure failure = sampler.solve(memory);
  if (failure.ok()) return std::nullopt;
  return explain(failure, sampler.options().budget, sampler.sites(), sampler.options().solver);
}

Outcome<Mutation> mutate(const Sampler& sampler, const Kernel& parent, std::uint64_t number, SampleMemory& memory,
                         const MoveOptions& options) {
  sampler.bound(memory);
  Growth& growth = memory.growth();
  World& world = growth.world();
  int choice = 0;
  const auto steps = replay(world, parent, &choice);
  if (!steps.ok()) return steps.rejection();
  const Identity own = memory.identity_of(*steps);
  const Sketch unchanged(world, *steps);
  Mutator mutator(growth, parent, *steps, choice);
  constexpr std::uint64_t stream = 0x4D75746174696F6EULL;  // apart from the numbers that kernels are drawn with
  Rng rng(sampler.seed() ^ stream, number);
  BrokenRules broken;
  for (int i = 0; i < options.most_tries; ++i) {
    const Mutation kind = draw_kind(rng, options);
    Sketch sketch = unchanged;
    int new_choice = choice;
    if (!mutator.edit(kind, rng, sketch, new_choice)) {
      broken.add("moves: the draw changes something");
    } else if (const std::int32_t rule = grow(growth, std::move(sketch), new_choice, options.repair, rng);
               rule != no_id) {
      broken.add(world.rule(rule));
    } else if (auto refused = refused_child(sampler, memory, {&own, 1})) {
      broken.add(std::move(refused->rule), std::move(refused->with));
    } else {
      return kind;
    }
  }
  return broken.most_frequent();
}

}  // namespace kasimir
