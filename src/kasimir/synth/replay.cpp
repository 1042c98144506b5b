// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/replay.h"

#include "kasimir/synth/small_site.h"

#include <algorithm>

namespace kasimir {

Size renumbered(const Size& size, const Numbering& numbers) {
  Size result = without_free_symbols(size);
  for (int i = 0; i < free_symbol_count; ++i)
    if (const int power = size.power(free_symbol(i)); power != 0)
      result *= Size(free_symbol(numbers[static_cast<std::size_t>(i)]), power);
  return result;
}

Operands shapes_of(const World& world, std::span<const GrownStep> steps, std::array<std::int16_t, 2> operands) {
  Operands shapes{no_id, no_id};
  for (std::size_t i = 0; i < operands.size(); ++i)
    if (operands[i] >= 0)
      shapes[i] = operands[i] == 0 ? world.input()
                                   : world.move(steps[static_cast<std::size_t>(operands[i]) - 1].written.move).result;
  return shapes;
}

namespace {

std::string text_of(const Kernel& kernel, std::size_t step) {
  return fmt::format("in `{} = {}`", tensor_name(static_cast<int>(step) + 1), str(kernel.steps[step]));
}

std::optional<int> matching_choice(const World& world, const Binding& used) {
  const auto& choices = world.options().choices;
  const auto agrees = [&](const Binding& choice) {
    return std::ranges::all_of(choice_symbols,
                               [&](Symbol symbol) { return !used.has(symbol) || choice[symbol] == used[symbol]; });
  };
  const auto found = std::ranges::find_if(choices, agrees);
  if (found == choices.end()) return std::nullopt;
  return static_cast<int>(found - choices.begin());
}

std::optional<Rejection> check_uses(const Kernel& kernel) {
  std::vector<bool> used(kernel.steps.size() + 1, false);
  used.back() = kernel.output == static_cast<int>(kernel.steps.size());
  for (const Step& step : kernel.steps)
    for (const int operand : step.operands) used[static_cast<std::size_t>(operand)] = true;
  if (!used[0]) return Rejection{"the input is used", ""};
  for (std::size_t i = 0; i < kernel.steps.size(); ++i)
    if (!used[i + 1]) return Rejection{"every step is used", text_of(kernel, i)};
  return std::nullopt;
}

/// The arguments of a move without choice symbols.
const std::vector<Argument>& plain(const World& world, MoveId move) {
  return world.arguments(world.application(move).arguments);
}

/// What the fresh symbol must be for the option to be the step: `option` differs from `step` only in sizes that are
/// that symbol alone.
std::optional<Size> value_of(Symbol fresh, const std::vector<Argument>& option, const std::vector<Argument>& step) {
  std::optional<Size> value;
  const auto same = [&](const Size& a, const Size& b) {
    if (a != Size(fresh)) return a == b;
    if (value && *value != b) return false;
    value = b;
    return true;
  };
  for (std::size_t i = 0; i < option.size(); ++i) {
    const auto* size = std::get_if<Size>(&option[i]);
    const auto* shape = std::get_if<Shape>(&option[i]);
    if (option[i].index() != step[i].index()) return std::nullopt;
    if (size != nullptr) {
      if (!same(*size, std::get<Size>(step[i]))) return std::nullopt;
    } else if (shape != nullptr) {
      const auto& wanted = std::get<Shape>(step[i]);
      if (!std::ranges::equal(*shape, wanted, [&](const Axis& a, const Axis& b) {
            return a.kind == b.kind && same(a.extent, b.extent);
          }))
        return std::nullopt;
    } else if (option[i] != step[i]) {
      return std::nullopt;
    }
  }
  return value;
}

/// A kernel whose step k has a symbol where it has a value.
class Unmatched {
 public:
  Unmatched(World& world, std::span<const GrownStep> steps, std::size_t k, int open, int choice)
      : world_(&world), steps_(steps), k_(k), open_(open), choice_(choice) {
    for (int i = 0; i < free_symbol_count; ++i)
      numbers_[static_cast<std::size_t>(i)] = std::min(i < open ? i : i + 1, free_symbol_count - 1);
  }

  /// Whether a step after k offers to give the symbol the value that step k has in its place.
  [[nodiscard]] bool is_matched_later(MoveId with_symbol, const Size& value) {
    const Substitution wanted{free_symbol(open_), renumbered(value, numbers_)};
    std::vector<GrownStep> steps(steps_.begin(), steps_.begin() + static_cast<std::ptrdiff_t>(k_) + 1);
    steps.back().written.move = with_symbol;
    for (std::size_t j = k_ + 1; j < steps_.size(); ++j) {
      GrownStep step = steps_[j];
      const int primitive = world_->move(step.written.move).primitive;
      const Operands operands = shapes_of(*world_, steps, step.operands);
      std::vector<Argument> arguments = world_->arguments(step.written.arguments);
      for (Argument& argument : arguments)
        for_each_size(argument, [&](Size& size) { size = renumbered(size, numbers_); });
      if (operands[1] != no_id && offers_match(primitive, operands, open_symbols(*world_, steps), wanted, arguments))
        return true;
      step.written.arguments = world_->intern(arguments);
      step.written.move = world_->apply(primitive, operands, step.written.arguments, choice_);
      if (!world_->move(step.written.move).legal()) return false;
      steps.push_back(step);
    }
    return false;
  }

 private:
  [[nodiscard]] bool offers_match(int primitive, Operands operands, int open, const Substitution& wanted,
                                  const std::vector<Argument>& arguments) const {
    return std::ranges::any_of(offers_of(*world_, primitive, operands, open, false), [&](const Offer& offer) {
      return offer.substitutions.size() == 1 && offer.substitutions[0].symbol == wanted.symbol &&
             world_->sites().equal(offer.substitutions[0].value, wanted.value) &&
             any_combination(offer, [&](const std::vector<Argument>& drawn) { return drawn == arguments; });
    });
  }

  World* world_;
  std::span<const GrownStep> steps_;
  std::size_t k_;
  int open_;
  int choice_;
  Numbering numbers_{};
};

Shape at_unit_stride(Shape shape) {
  for (Axis& axis : shape) axis.extent = axis.extent.substitute(Symbol::s, Size(1));
  return shape;
}

/// Puts the default in place of a word, if the step is legal so.
bool use_default_word(Step& step, const std::vector<Shape>& operands, const SiteSet& sites) {
  for (std::size_t i = 0; i < step.arguments.size(); ++i) {
    const Param& param = step.primitive->params[i];
    const auto fallback = std::ranges::find(param.words, param.fallback);
    if (param.kind != ParamKind::word || fallback == param.words.end()) continue;
    std::vector<Argument> arguments = step.arguments;
    arguments[i] = Word{static_cast<std::uint8_t>(fallback - param.words.begin())};
    if (!step.primitive->shape({*step.primitive, operands, arguments, sites}).ok()) continue;
    step.arguments = std::move(arguments);
    return true;
  }
  return false;
}

void leave_out(Kernel& kernel, std::size_t step) {
  const int tensor = static_cast<int>(step) + 1;
  const int operand = kernel.steps[step].operands[0];
  const auto rename = [&](int& read) { read = read == tensor ? operand : read > tensor ? read - 1 : read; };
  kernel.steps.erase(kernel.steps.begin() + static_cast<std::ptrdiff_t>(step));
  for (Step& other : kernel.steps) std::ranges::for_each(other.operands, rename);
  rename(kernel.output);
}

}  // namespace

Kernel without_idle_strides(const World& world, const Kernel& kernel) {
  const SiteSet sites(world.sites().sites(), kernel.choices);
  const auto shapes = infer_shapes(kernel, sites);
  if (world.any_stride() || !shapes.ok()) return kernel;
  Kernel result = kernel;
  for (std::size_t i = kernel.steps.size(); i-- > 0;) {
    Step& step = result.steps[i];
    std::vector<Shape> operands;
    for (const int operand : step.operands)
      operands.push_back(at_unit_stride((*shapes)[static_cast<std::size_t>(operand)]));
    const bool legal = step.primitive->shape({*step.primitive, operands, step.arguments, sites}).ok();
    if (legal || use_default_word(step, operands, sites) || step.operands.size() != 1) continue;
    leave_out(result, i);
  }
  const auto before = label(kernel);
  const auto after = label(result);
  return before.ok() && after.ok() && before->fingerprint == after->fingerprint ? result : kernel;
}

int open_symbols(const World& world, std::span<const GrownStep> steps) {
  int open = 0;
  for (const GrownStep& step : steps) open = std::max<int>(open, world.move(step.written.move).open_symbols);
  return open;
}

Outcome<std::vector<GrownStep>> replay(World& world, const Kernel& kernel, int* choice) {
  if (kernel.steps.empty() || kernel.steps.size() > static_cast<std::size_t>(GrowthLimits::most_primitives))
    return Rejection{fmt::format("a kernel has 1..{} steps", GrowthLimits::most_primitives),
                     fmt::format("{} steps", kernel.steps.size())};
  if (auto reason = check_uses(kernel)) return *reason;
  const Binding used = used_choices(kernel.steps, kernel.choices);
  const auto found = matching_choice(world, used);
  if (!found) return Rejection{"the choice symbols have values that the sampler draws at these sites", used.str()};
  *choice = *found;

  Numbering numbers;
  numbers.fill(-1);
  int next = 0;
  std::vector<GrownStep> steps;
  for (std::size_t i = 0; i < kernel.steps.size(); ++i) {
    const Step& step = kernel.steps[i];
    std::vector<Argument> arguments = step.arguments;
    for (Argument& argument : arguments)
      for_each_size(argument, [&](Size& size) {
        for (int k = 0; k < free_symbol_count; ++k)
          if (size.has(free_symbol(k)) && numbers[static_cast<std::size_t>(k)] < 0)
            numbers[static_cast<std::size_t>(k)] = next++;
        size = renumbered(size, numbers);
      });
    GrownStep grown;
    std::ranges::transform(step.operands, grown.operands.begin(), [](int n) { return static_cast<std::int16_t>(n); });
    const auto primitive =
        static_cast<int>(std::ranges::find(world.catalog(), step.primitive) - world.catalog().begin());
    grown.written.arguments = world.intern(arguments);
    grown.written.move =
        world.apply(primitive, shapes_of(world, steps, grown.operands), grown.written.arguments, *choice);
    const Move& move = world.move(grown.written.move);
    if (!move.legal()) return Rejection{world.rule(move.rule), text_of(kernel, i)};
    if (next > World::most_open)
      return Rejection{fmt::format("a kernel has at most {} free symbols", World::most_open), text_of(kernel, i)};
    steps.push_back(grown);
  }
  const ShapeFacts& result = world.shape(world.move(steps.back().written.move).result);
  if (!result.output) return Rejection{"the result has the axes c=Co, h=H, w=W", str(result.shape)};
  return steps;
}

std::vector<Offer> offers_of(const World& world, int primitive, Operands operands, int open, bool closing) {
  const Primitive& record = *world.catalog()[static_cast<std::size_t>(primitive)];
  std::vector<const Shape*> shapes;
  for (int i = 0; i < record.operands; ++i) shapes.push_back(&world.shape(operands[static_cast<std::size_t>(i)]).shape);
  Proposer proposer(std::move(shapes), world.sites());
  proposer.weights_may_depend_on_resolution = world.options().weights_may_depend_on_resolution;
  proposer.closing = closing;
  for (int i = 0; i < open; ++i) proposer.open_symbols.push_back(free_symbol(i));
  if (open < World::most_open) proposer.fresh_symbol = free_symbol(open);
  auto offers = record.offers(proposer);
  return offers.ok() ? *std::move(offers) : std::vector<Offer>{};
}

bool any_combination(const Offer& offer, const std::function<bool(const std::vector<Argument>&)>& visit) {
  if (std::ranges::any_of(offer.options, [](const auto& options) { return options.empty(); })) return false;
  std::vector<std::size_t> at(offer.options.size(), 0);
  std::vector<Argument> arguments(offer.options.size(), Word{});
  for (;;) {
    for (std::size_t i = 0; i < at.size(); ++i) arguments[i] = offer.options[i][at[i]].value;
    if (visit(arguments)) return true;
    std::size_t turned = at.size();
    while (turned > 0 && ++at[turned - 1] == offer.options[turned - 1].size()) at[--turned] = 0;
    if (turned == 0) return false;
  }
}

namespace {

/// The offer without options that have no weight and so are never drawn.
Offer drawable(Offer offer) {
  for (auto& options : offer.options) std::erase_if(options, [](const Option& option) { return option.weight <= 0.0; });
  return offer;
}

}  // namespace

bool offered(World& world, std::span<const GrownStep> steps, std::size_t k, int choice) {
  const GrownStep& step = steps[k];
  const int primitive = world.move(step.written.move).primitive;
  const Primitive& record = *world.catalog()[static_cast<std::size_t>(primitive)];
  if (world.options().weights[static_cast<std::size_t>(primitive)] <= 0.0 || step.operands[0] == step.operands[1])
    return false;
  const int open = open_symbols(world, steps.first(k));
  const Operands operands = shapes_of(world, steps, step.operands);
  const auto move_of = [&](const std::vector<Argument>& arguments) {
    return world.apply(primitive, operands, world.intern(arguments), choice);
  };
  const auto is_step = [&](const std::vector<Argument>& arguments) { return move_of(arguments) == step.written.move; };
  for (const bool closing : {false, true}) {
    if (closing && record.closing_weight <= 0.0) continue;
    // Free growth proposes with the symbols that are open; steps that close, as if there were none.
    for (const Offer& offer : offers_of(world, primitive, operands, closing ? 0 : open, closing))
      if (offer.weight > 0.0 && offer.substitutions.empty() && any_combination(drawable(offer), is_step)) return true;
  }
  if (open >= World::most_open) return false;
  Unmatched unmatched(world, steps, k, open, choice);
  const auto becomes_step = [&](const std::vector<Argument>& arguments) {
    const MoveId move = move_of(arguments);
    const auto value = value_of(free_symbol(open), plain(world, move), plain(world, step.written.move));
    return value && world.move(move).legal() && unmatched.is_matched_later(move, *value);
  };
  return std::ranges::any_of(offers_of(world, primitive, operands, open, false), [&](const Offer& offer) {
    return offer.weight > 0.0 && offer.substitutions.empty() && any_combination(drawable(offer), becomes_step);
  });
}

}  // namespace kasimir
