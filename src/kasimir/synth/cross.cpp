// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/moves.h"
#include "kasimir/synth/replay.h"

#include <algorithm>
#include <cstdlib>

namespace kasimir {
namespace {

/// A parent in a world, under one choice for both.
struct Parent {
  Sketch sketch;
  std::vector<ShapeId> shapes;  ///< of all tensors
  int open = 0;                 ///< free symbols
};

/// Nothing if a step is not legal with that choice.
std::optional<Parent> at_choice(World& world, std::span<const GrownStep> steps, int choice) {
  Parent parent{Sketch(world, steps), {world.input()}, open_symbols(world, steps)};
  for (const Sketch::Step& step : parent.sketch.steps) {
    Operands shapes{no_id, no_id};
    for (std::size_t i = 0; i < shapes.size(); ++i)
      if (step.operands[i] >= 0) shapes[i] = parent.shapes[static_cast<std::size_t>(step.operands[i])];
    const Move move = world.move(world.apply(step.primitive, shapes, step.arguments, choice));
    if (!move.legal()) return std::nullopt;
    parent.shapes.push_back(move.result);
  }
  return parent;
}

/// Free symbols x0, x1, .. become x(by), x(by + 1), ..
Size shifted(const Size& size, int by) {
  Numbering numbers;
  for (int i = 0; i < free_symbol_count; ++i)
    numbers[static_cast<std::size_t>(i)] = std::min(i + by, free_symbol_count - 1);
  return renumbered(size, numbers);
}

/// What makes the shapes equal: free symbols of either take values. Those of `theirs` have numbers that go on behind
/// the `open` ones of `ours`. Nothing if that does not suffice.
std::optional<std::vector<Substitution>> match(const World& world, const Shape& ours, const Shape& theirs, int open) {
  if (ours.size() != theirs.size()) return std::nullopt;
  std::vector<Substitution> found;
  for (std::size_t i = 0; i < ours.size(); ++i) {
    if (ours[i].kind != theirs[i].kind) return std::nullopt;
    Size own = ours[i].extent;
    Size other = shifted(theirs[i].extent, open);
    for (const Substitution& by : found) {
      own = own.substitute(by.symbol, by.value);
      other = other.substitute(by.symbol, by.value);
    }
    if (world.sites().equal(own, other)) continue;
    const Size ratio = other / own;
    int symbol = free_symbol_count - 1;
    while (symbol >= 0 && std::abs(ratio.power(free_symbol(symbol))) != 1) --symbol;
    if (symbol < 0) return std::nullopt;
    const int power = ratio.power(free_symbol(symbol));
    const Size value = Size(free_symbol(symbol)) / ratio.pow(power);
    if (!world.sites().whole(value)) return std::nullopt;
    found.push_back({free_symbol(symbol), value});
  }
  return found;
}

struct Graft {
  int donor = 0;     ///< tensor of the one parent that takes the place ..
  int receiver = 0;  ///< .. of this one of the other
  std::vector<Substitution> by;
};

/// A pair of tensors that fit; now and then any pair, for repair.
std::optional<Graft> draw_graft(const World& world, const Parent& donor, const Parent& receiver, Rng& rng) {
  const auto at = static_cast<int>(rng.below(donor.shapes.size()));
  const Shape& ours = world.shape(donor.shapes[static_cast<std::size_t>(at)]).shape;
  constexpr double any = 0.1;
  if (rng.chance(any)) return Graft{at, static_cast<int>(rng.below(receiver.shapes.size())), {}};
  std::vector<Graft> fitting;
  for (std::size_t i = 0; i < receiver.shapes.size(); ++i)
    if (auto by = match(world, ours, world.shape(receiver.shapes[i]).shape, donor.open))
      fitting.push_back({at, static_cast<int>(i), *std::move(by)});
  if (fitting.empty()) return std::nullopt;
  return rng.pick(fitting);
}

/// The donor's steps up to the graft, then the receiver's, as far as the output needs them.
Sketch joined(World& world, const Parent& donor, const Parent& receiver, const Graft& graft) {
  const int before = graft.donor;
  const auto renumber = [&](int tensor) {
    return tensor == graft.receiver ? before : tensor <= 0 ? tensor : tensor + before;
  };
  Sketch sketch;
  sketch.steps.assign(donor.sketch.steps.begin(), donor.sketch.steps.begin() + before);
  for (Sketch::Step step : receiver.sketch.steps) {
    std::vector<Argument> arguments = world.arguments(step.arguments);
    for (Argument& argument : arguments) for_each_size(argument, [&](Size& size) { size = shifted(size, donor.open); });
    step.arguments = world.intern(arguments);
    for (std::int16_t& operand : step.operands) operand = static_cast<std::int16_t>(renumber(operand));
    sketch.steps.push_back(step);
  }
  sketch.output = renumber(receiver.sketch.output);
  sketch.drop_unread();
  sketch.substitute(world, graft.by);
  return sketch;
}

/// The parents, each under the choice of each.
class Pair {
 public:
  Pair(World& world, std::span<const std::vector<GrownStep>, 2> steps, std::span<const int, 2> choices) {
    for (std::size_t i = 0; i < 2; ++i)
      for (std::size_t k = 0; k < 2; ++k) at_[i][k] = at_choice(world, steps[i], choices[k]);
  }
  [[nodiscard]] const std::optional<Parent>& parent(std::size_t number, std::size_t choice) const {
    return at_[number][choice];
  }

 private:
  std::array<std::array<std::optional<Parent>, 2>, 2> at_;
};

}  // namespace

std::optional<Rejection> cross(const Sampler& sampler, const Kernel& first, const Kernel& second, std::uint64_t number,
                               SampleMemory& memory, const MoveOptions& options) {
  sampler.bound(memory);
  Growth& growth = memory.growth();
  World& world = growth.world();
  std::array<int, 2> choices{};
  std::array<std::vector<GrownStep>, 2> steps;
  std::array<Identity, 2> own;
  for (std::size_t i = 0; i < 2; ++i) {
    auto replayed = replay(world, i == 0 ? first : second, &choices[i]);
    if (!replayed.ok()) return replayed.rejection();
    steps[i] = *std::move(replayed);
    own[i] = memory.identity_of(steps[i]);
  }
  constexpr std::uint64_t stream = 0x43726F73736F7665ULL;  // apart from those of kernels that are drawn or mutated
  Rng rng(sampler.seed() ^ stream, number);
  const Pair pair(world, steps, choices);
  BrokenRules broken;
  for (int i = 0; i < options.most_tries; ++i) {
    const std::size_t giving = rng.below(2);
    const std::size_t chosen = rng.below(2);
    const auto& donor = pair.parent(giving, chosen);
    const auto& receiver = pair.parent(1 - giving, chosen);
    const auto graft = donor && receiver ? draw_graft(world, *donor, *receiver, rng) : std::nullopt;
    if (!graft) {
      broken.add("moves: two tensors of the parents have like shapes");
      continue;
    }
    Sketch sketch = joined(world, *donor, *receiver, *graft);
    if (const std::int32_t rule = grow(growth, std::move(sketch), choices[chosen], options.repair, rng);
        rule != no_id) {
      broken.add(world.rule(rule));
    } else if (auto refused = refused_child(sampler, memory, own)) {
      broken.add(std::move(refused->rule), std::move(refused->with));
    } else {
      return std::nullopt;
    }
  }
  return broken.most_frequent();
}

}  // namespace kasimir
