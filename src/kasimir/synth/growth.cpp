// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/growth.h"

#include "kasimir/synth/normal_form.h"

#include <algorithm>
#include <bit>
#include <limits>

namespace kasimir {
namespace {

constexpr std::array<std::int16_t, 2> nothing{-1, -1};
constexpr std::size_t costs = bounded_costs;

/// Numbers repeated by weight, so that a draw is one lookup.
std::vector<std::uint8_t> spread(const std::vector<double>& weights) {
  constexpr double entries = 1024;
  double total = 0.0;
  for (const double weight : weights) total += weight;
  std::vector<std::uint8_t> kinds;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    if (weights[i] <= 0.0) continue;
    const auto times = std::max<std::size_t>(1, static_cast<std::size_t>(weights[i] / total * entries + 0.5));
    kinds.insert(kinds.end(), times, static_cast<std::uint8_t>(i));
  }
  return kinds;
}

}  // namespace

Growth::Growth(World& world, const GrowthLimits& limits, const CostLines& lines, NormalFormer& pairs)
    : world_(&world), limits_(&limits), lines_(&lines), pairs_(&pairs) {
  const Catalog catalog = world.catalog();
  std::vector<double> weights = world.options().weights;
  for (std::size_t i = 0; i < catalog.size(); ++i) {
    operand_counts_.push_back(static_cast<std::uint8_t>(catalog[i]->operands));
    if (weights[i] > 0.0 && !world.ever_offers(i)) weights[i] = 0.0;
    for (const std::string& name : limits.require)
      if (catalog[i]->name == name && std::ranges::find(required_, static_cast<int>(i)) == required_.end())
        required_.push_back(static_cast<int>(i));
  }
  if (limits.composites > 0.0) composites_ = CompositeSet(catalog, weights);
  std::vector<double> kinds = weights;
  for (std::size_t i = 0; i < composites_.size(); ++i) kinds.push_back(limits.composites * composites_.weight(i));
  KASIMIR_CHECK(kinds.size() <= 256, "{} primitives and composites", kinds.size());
  kinds_ = spread(kinds);
  if (limits.successor_share > 0.0) prepare_successors(weights);
  bounds_.resize(2 * costs * static_cast<std::size_t>(world.lanes()));
  scratch_.resize(bounds_.size());
  none_.assign(bounds_.size(), 0.0F);
  rules_ = {.repeat = world.rule_id("growth: no step is repeated"),
            .idle = world.rule_id("growth: no step is made idle by its neighbour"),
            .reach = world.rule_id("growth: the output is still within reach"),
            .width = world.rule_id("growth: the width is within its limit"),
            .macs = world.rule_id("growth: the least MACs stay within the budget"),
            .params = world.rule_id("growth: the least parameters stay within the budget"),
            .low = world.rule_id("growth: the budget's lower bounds can be reached"),
            .end = world.rule_id("growth: the budget leaves room for the steps that end the kernel"),
            .stuck = world.rule_id("growth: some step leads on"),
            .channels = world.rule_id("growth: a composite is put on a tensor with channels"),
            .room = world.rule_id("growth: a composite has room in the steps that are left"),
            .length = world.rule_id("growth: the length is within its limits"),
            .successor = world.rule_id("growth: something is known to follow what made the tensor")};
  refused_.assign(World::most_rules, 0);
}

void Growth::prepare_successors(const std::vector<double>& weights) {
  const auto names = primitive_names(world_->catalog());
  const auto number = [&](const std::string& name) {
    return static_cast<std::size_t>(std::ranges::find(names, name) - names.begin());
  };
  std::vector<std::vector<double>> rows(names.size() + 1, std::vector<double>(names.size(), 0.0));
  for (const Successor& one : limits_->successors.empty() ? default_successors() : limits_->successors) {
    const std::size_t row = one.producer == successor_input ? 0 : number(one.producer) + 1;
    const std::size_t consumer = number(one.consumer);
    if (row < rows.size() && consumer < names.size() && weights[consumer] > 0.0) rows[row][consumer] = one.weight;
  }
  for (const auto& row : rows) successors_.push_back(spread(row));
}

void Growth::push(const Node& node) {
  state_.open[static_cast<std::size_t>(state_.opens++)] = static_cast<std::int16_t>(state_.nodes);
  state_.node[static_cast<std::size_t>(state_.nodes++)] = node;
  if (!node.full) return;
  state_.nearest_full[0] = std::min<int>(state_.nearest_full[0], node.least_steps);
  state_.nearest_full[1] = std::min<int>(state_.nearest_full[1], node.sure_steps);
}

namespace {

// Move::signs, of the facts with these names.
constexpr std::uint8_t nonnegative_sign = 1;
constexpr std::uint8_t keeps_nonnegative_sign = 2;
constexpr std::uint8_t identity_on_nonnegative_sign = 4;

}  // namespace

/// The move with its facts, worked out at first use.
const Move& Growth::known(MoveId id) const {
  if (world_->move(id).step == no_id) {
    const StepFacts& facts = pairs_->facts(id);
    const auto sign = [&](Trait trait, std::uint8_t bit) { return facts.is(trait) ? bit : 0; };
    world_->note_step(id, &facts,
                      static_cast<std::uint8_t>(sign(Trait::nonnegative, nonnegative_sign) |
                                                sign(Trait::keeps_nonnegative, keeps_nonnegative_sign) |
                                                sign(Trait::identity_on_nonnegative, identity_on_nonnegative_sign)));
  }
  return world_->move(id);
}

/// Whether the values of the result are known not to be negative.
bool Growth::nonnegative(MoveId id, Tensors operands) const {
  if (!limits_->local_rules) return false;
  const std::uint8_t signs = known(id).signs;
  if ((signs & nonnegative_sign) != 0) return true;
  return (signs & keeps_nonnegative_sign) != 0 && std::ranges::all_of(operands, [&](std::int16_t tensor) {
           return tensor < 0 || state_.node[static_cast<std::size_t>(tensor)].nonnegative;
         });
}

/// NormalFormer::wastes() with a memory of its own: the same few thousand pairs are most of the questions.
bool Growth::wastes(MoveId producer, MoveId consumer) const {
  const auto step = [&](MoveId id) { return static_cast<std::uint64_t>(known(id).step); };
  const std::uint64_t pair = (step(producer) << 32U) | (step(consumer) << 1U);
  std::uint64_t& asked = asked_pairs_[mix_bits(pair) % most_asked];
  if ((asked & ~std::uint64_t{1}) != pair) asked = pair | (pairs_->wastes(producer, consumer) ? 1U : 0U);
  return (asked & 1U) != 0;
}

void Growth::clear(std::uint64_t missing) {
  state_.nodes = 0;
  state_.opens = 0;
  state_.open_symbols = 0;
  state_.missing = missing;
  std::ranges::fill(state_.nearest_full, std::numeric_limits<int>::max());
  std::ranges::fill(bounds_, 0.0F);
  const ShapeFacts& input = world_->shape(world_->input());
  push({world_->input(), input.least_steps, input.sure_steps, input.full, false});
}

void Growth::save(Snapshot& to) const {
  to.state = state_;
  to.bounds = bounds_;
}

void Growth::restore(const Snapshot& from) {
  state_ = from.state;
  bounds_ = from.bounds;
}

Operands Growth::shapes_of(Tensors operands) const {
  return {state_.node[static_cast<std::size_t>(operands[0])].shape,
          operands[1] < 0 ? no_id : state_.node[static_cast<std::size_t>(operands[1])].shape};
}

/// Steps that are needed at least, or, `careful`, surely enough, after a step that consumes two tensors and gives
/// `next`. An estimate that is too high would silently remove kernels, one that is too low only costs dead ends: steps
/// are accepted by the first, closing begins by the second.
int Growth::distance(bool careful, const Move* next, Tensors consumed) const {
  int steps = -1;
  bool any_full = false;
  for_each_left(consumed, [&](std::int16_t /*tensor*/, const Node& node) {
    steps += 1 + (careful ? node.sure_steps : node.least_steps);
    any_full = any_full || node.full;
  });
  int nearest = state_.nearest_full[careful ? 1 : 0];
  if (next != nullptr) {
    const int own = careful ? next->sure_steps : next->least_steps;
    steps += 1 + own;
    any_full = any_full || next->full;
    if (next->full) nearest = std::min(nearest, own);
  }
  // What is left lacks rows or columns: it must be combined with an earlier tensor that has them.
  return any_full ? steps : steps + 1 + nearest;
}

/// The rule that the least cost would break, or none.
std::int32_t Growth::too_dear(const Move& move) const {
  const auto row = static_cast<std::size_t>(world_->lanes());
  for (std::size_t cost = 0; cost < costs; ++cost) {
    const std::size_t first = cost * row;
    int beyond = 0;
    for (std::size_t i = first; i < first + row; ++i) beyond += bounds_[i] + move.bounds[i] > lines_->high[i] ? 1 : 0;
    if (lines_->total_high[cost] != std::numeric_limits<float>::infinity()) {
      float total = 0.0F;
      for (std::size_t i = 0; i < row; ++i) total += lines_->count[i] * (bounds_[first + i] + move.bounds[first + i]);
      beyond += total > lines_->total_high[cost] ? 1 : 0;
    }
    if (beyond > 0) return cost == 0 ? rules_.macs : rules_.params;
  }
  return no_id;
}

bool Growth::dear_enough(const Move& move) const {
  const auto row = static_cast<std::size_t>(world_->lanes());
  const std::size_t most = costs * row;
  int below = 0;
  for (std::size_t i = 0; i < costs * row; ++i)
    below += bounds_[most + i] + move.bounds[most + i] < lines_->low[i] ? 1 : 0;
  for (std::size_t cost = 0; cost < costs; ++cost) {
    if (lines_->total_low[cost] <= 0.0F) continue;
    float total = 0.0F;
    for (std::size_t i = 0; i < row; ++i)
      total += lines_->count[i] * (bounds_[most + cost * row + i] + move.bounds[most + cost * row + i]);
    below += total < lines_->total_low[cost] ? 1 : 0;
  }
  return below == 0;
}

/// The same step twice only wastes one, unless it has weights of its own.
bool Growth::repeats(const Move& move, MoveId id, Tensors operands) const {
  if (move.weighted) return false;
  return std::ranges::any_of(
      steps(), [&](const GrownStep& step) { return step.written.move == id && step.operands == operands; });
}

/// The move changes nothing because of the sign of its operand.
bool Growth::idles_by_sign(MoveId id, Tensors operands) const {
  return limits_->local_rules && state_.node[static_cast<std::size_t>(operands[0])].nonnegative &&
         (known(id).signs & identity_on_nonnegative_sign) != 0;
}

/// An operand that nothing else reads yet and the move leave one of their steps idle.
bool Growth::idles_by_pair(MoveId id, Tensors operands) const {
  // No pair is judged whose second step has two operands.
  const std::int16_t tensor = operands[0];
  return limits_->local_rules && operands[1] < 0 && tensor > 0 && is_open(tensor) &&
         wastes(state_.steps[static_cast<std::size_t>(tensor) - 1].written.move, id);
}

int Growth::width_after(Tensors operands) const {
  int width = 1;
  for_each_left(operands, [&](std::int16_t /*tensor*/, const Node& /*node*/) { ++width; });
  return width;
}

/// What is still required after the move.
std::uint64_t Growth::missing_after(const Move& move) const {
  std::uint64_t missing = state_.missing;
  for (std::size_t i = 0; missing != 0 && i < required_.size(); ++i)
    if (required_[i] == move.primitive) missing &= ~(std::uint64_t{1} << i);
  return missing;
}

bool Growth::consider(WrittenMove written, Tensors operands, int left) {
  const Move& outline = world_->move(written.move);
  if (!outline.legal()) return refuse(outline.rule);
  const std::uint64_t missing = missing_after(outline);
  const int required = missing == 0 ? 0 : std::popcount(missing);  // a call where the machine may lack it
  const int slack = left - 1 - std::max(distance(false, &outline, operands), required);
  // With one step left all that could end the kernel is known: the estimate, which counts a step for each of two
  // tensors that one step may make ready together, is not asked.
  if (slack < 0 && (left != 2 || required > 1)) return refuse(rules_.reach);
  if (repeats(outline, written.move, operands)) return refuse(rules_.repeat);
  if (width_after(operands) > limits_->max_width) return refuse(rules_.width);
  if (left == 2 && !may_end(outline.result, operands, slack)) return refuse(rules_.reach);
  const Move move = world_->whole_move(written.move);
  if (!move.legal()) return refuse(move.rule);
  if (const std::int32_t rule = too_dear(move); rule != no_id) return refuse(rule);
  if (left == 1 && !dear_enough(move)) return refuse(rules_.low);
  if (idles_by_sign(written.move, operands) || idles_by_pair(written.move, operands)) return refuse(rules_.idle);
  constexpr int near = 4;  // what closing costs matters when it comes near
  if (left > 1 && left <= near)
    if (const std::int32_t rule = cannot_end(written.move, operands, left, slack); rule != no_id) return refuse(rule);
  state_.missing = missing;
  take(written, move, operands);
  return true;
}

void Growth::take(WrittenMove written, const Move& move, Tensors operands) {
  take({written, operands}, move,
       {move.result, move.least_steps, move.sure_steps, move.full, nonnegative(written.move, operands)});
}

void Growth::take(const GrownStep& step, const Move& move, const Node& result) {
  state_.steps[static_cast<std::size_t>(state_.nodes) - 1] = step;
  int kept = 0;
  for (int i = 0; i < state_.opens; ++i) {
    const std::int16_t tensor = state_.open[static_cast<std::size_t>(i)];
    if (tensor != step.operands[0] && tensor != step.operands[1])
      state_.open[static_cast<std::size_t>(kept++)] = tensor;
  }
  state_.opens = kept;
  push(result);
  for (std::size_t i = 0; i < bounds_.size(); ++i) bounds_[i] += move.bounds[i];
  state_.open_symbols = std::max<int>(state_.open_symbols, move.open_symbols);
}

/// Shape matching: one symbol gets a value in the whole kernel, so every step is worked out again.
bool Growth::substitute_and_consider(std::span<const Substitution> by, int primitive, ArgumentsId arguments,
                                     Tensors operands, int left) {
  KASIMIR_CHECK(by.size() == 1, "{} substitutions", by.size());
  const std::int32_t all = world_->intern(by.front(), state_.open_symbols);
  save(before_);
  const State& before = before_.state;
  const auto undo = [&] {
    restore(before_);
    return false;
  };
  clear(before.missing);
  for (int i = 0; i + 1 < before.nodes; ++i) {
    const GrownStep& step = before.steps[static_cast<std::size_t>(i)];
    if (const Move& old = world_->move(step.written.move); old.open_symbols == 0) {
      take(step, old, before.node[static_cast<std::size_t>(i) + 1]);
      continue;
    }
    const WrittenMove written = world_->substituted(step.written, shapes_of(step.operands), all, choice_);
    const Move move = world_->move(written.move);
    if (!move.legal()) {
      refuse(move.rule);
      return undo();
    }
    take(written, move, step.operands);
  }
  const ArgumentsId own = world_->substituted(arguments, all);
  return consider({world_->sketch(primitive, shapes_of(operands), own, choice_), own}, operands, left) || undo();
}

std::int16_t Growth::draw_tensor(Rng& rng) const {
  const double p = rng.unit();
  if (p < 0.6) return state_.open[static_cast<std::size_t>(state_.opens) - 1];
  if (p < 0.85) return state_.open[rng.below(static_cast<std::uint64_t>(state_.opens))];
  return static_cast<std::int16_t>(rng.below(static_cast<std::uint64_t>(state_.nodes)));
}

bool Growth::try_one(Rng& rng, int primitive, int left) {
  Tensors operands{draw_tensor(rng), -1};
  if (operand_counts_[static_cast<std::size_t>(primitive)] == 2) operands[1] = draw_tensor(rng);
  return try_with(rng, primitive, operands, left);
}

/// A tensor, then a primitive that is known to follow what made it.
bool Growth::try_successor(Rng& rng, int left) {
  const std::int16_t tensor = draw_tensor(rng);
  const std::size_t producer =
      tensor == 0
          ? 0
          : std::size_t{1} + world_->move(state_.steps[static_cast<std::size_t>(tensor) - 1].written.move).primitive;
  if (successors_[producer].empty()) return refuse(rules_.successor);
  const std::uint8_t primitive = rng.pick(successors_[producer]);
  Tensors operands{tensor, -1};
  if (operand_counts_[primitive] == 2) {
    operands[1] = draw_tensor(rng);
    if (rng.chance(0.5)) std::swap(operands[0], operands[1]);
  }
  return try_with(rng, primitive, operands, left);
}

bool Growth::try_with(Rng& rng, int primitive, Tensors operands, int left) {
  if (operands[0] == operands[1]) return refuse(rules_.repeat);
  const Operands shapes = shapes_of(operands);
  const MoveTable table = world_->table(primitive, shapes, state_.open_symbols);
  if (table.ways == 0) return refuse(table.rule);
  const DrawnMove drawn = world_->draw(table, rng);
  if (world_->way(drawn).substitutes)
    return substitute_and_consider(world_->offer(table, drawn).substitutions, primitive,
                                   world_->arguments_at(table, drawn), operands, left);
  return consider(world_->sketch(primitive, shapes, table, drawn, choice_), operands, left);
}

/// The number of steps that were taken, 0 if none leads on.
int Growth::grow_step(Rng& rng, int left) {
  // No source: enough that a free step is nearly always found, and few where the end is near.
  constexpr int many_tries = 24;
  constexpr int few_tries = 3;
  int free_tries = many_tries;
  if (distance(true, nullptr, nothing) >= left) free_tries = few_tries;
  const int needed = state_.missing == 0 ? 0 : std::popcount(state_.missing);
  if (std::max(distance(false, nullptr, nothing), needed) >= left) free_tries = 0;
  const auto primitives = static_cast<int>(operand_counts_.size());
  for (int i = 0; i < free_tries; ++i) {
    if (!successors_.empty() && rng.chance(limits_->successor_share)) {
      if (try_successor(rng, left)) return 1;
      continue;
    }
    const int kind = draw_kind(rng);
    const int taken = kind < primitives ? static_cast<int>(try_one(rng, kind, left))
                                        : try_composite(rng, static_cast<std::size_t>(kind - primitives), left);
    if (taken > 0) return taken;
  }
  ++forced_steps_;
  for (int i = 0; needed >= left && i < many_tries; ++i)
    if (try_one(rng, required_[static_cast<std::size_t>(std::countr_zero(state_.missing))], left)) return 1;
  return try_closing(rng, left) ? 1 : 0;
}

bool Growth::run(Rng& rng) {
  begin(static_cast<int>(rng.below(world_->options().choices.size())));
  return complete(rng, static_cast<int>(rng.between(limits_->min_primitives, limits_->max_primitives)));
}

bool Growth::again(Rng& rng) {
  const int left = retreat(1);
  return left > 0 && grow(rng, left);
}

/// Takes some of the last steps back, more of them each time; the number of steps that are left then, or 0 if that was
/// tried often enough.
int Growth::retreat(int left) {
  constexpr int most_retreats = 10;
  const int most = std::min(static_cast<int>(snapshots_.size()), wanted_);
  if (++retreats_ > most_retreats || left > most) return 0;
  const Snapshot& to = snapshots_[static_cast<std::size_t>(std::min(left + (retreats_ + 1) / 2, most)) - 1];
  restore(to);
  return to.left;
}

bool Growth::grow(Rng& rng, int left) {
  while (left > 0) {
    if (left <= static_cast<int>(snapshots_.size())) {
      save(snapshots_[static_cast<std::size_t>(left) - 1]);
      snapshots_[static_cast<std::size_t>(left) - 1].left = left;
    }
    if (const int taken = grow_step(rng, left); taken > 0) {
      left -= taken;
      continue;
    }
    // A dead end is most often the fault of the last steps.
    left = retreat(left);
    if (left > 0) continue;
    failure_ = rules_.stuck;
    return false;
  }
  return true;
}

std::string Growth::failure_example() const {
  std::string text;
  for (const std::int16_t tensor : open())
    text +=
        (text.empty() ? "" : " and ") + str(world_->shape(state_.node[static_cast<std::size_t>(tensor)].shape).shape);
  return fmt::format("{} after {} steps", text, state_.nodes - 1);
}

namespace {

Kernel written(const World& world, std::span<const GrownStep> steps, bool in_symbols) {
  Kernel kernel;
  for (const GrownStep& grown : steps) {
    const MoveId id = grown.written.move;
    Step step{world.catalog()[world.move(id).primitive],
              {},
              world.arguments(in_symbols ? grown.written.arguments : world.application(id).arguments)};
    for (const std::int16_t operand : grown.operands)
      if (operand >= 0) step.operands.push_back(operand);
    kernel.steps.push_back(std::move(step));
  }
  kernel.output = static_cast<int>(steps.size());
  return kernel;
}

}  // namespace

Kernel to_kernel(const World& world, int choice, std::span<const GrownStep> steps) {
  Kernel kernel = written(world, steps, true);
  kernel.choices = used_choices(kernel.steps, world.options().choices[static_cast<std::size_t>(choice)]);
  // Growth counts with numbers; a sum such as Co + Co/r is a size only as a number.
  const SiteSet sites(world.sites().sites(), kernel.choices);
  return infer_shapes(kernel, sites).ok() ? kernel : written(world, steps, false);
}

}  // namespace kasimir
