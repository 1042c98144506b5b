// SPDX-License-Identifier: Apache-2.0
#include "kasimir/synth/enumerate.h"

#include "kasimir/synth/replay.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <tuple>

namespace kasimir {
namespace {

constexpr int most_primitives = 8;  // far more than anybody waits for

/// Choice symbols of an argument, as bits.
std::uint8_t symbols_of(const Argument& argument) {
  std::uint8_t found = 0;
  for_each_size(argument, [&](const Size& size) {
    for (std::size_t i = 0; i < choice_symbols.size(); ++i)
      if (size.has(choice_symbols[i])) found = static_cast<std::uint8_t>(found | (1U << i));
  });
  return found;
}

}  // namespace

ShapeId Enumeration::shape_of(std::span<const GrownStep> steps, int tensor) const {
  return tensor == 0 ? world_->input() : world_->move(steps[static_cast<std::size_t>(tensor) - 1].written.move).result;
}

const std::vector<Enumeration::Candidate>& Enumeration::candidates(const Place& place) {
  const auto [at, is_new] = candidates_.try_emplace(place);
  if (!is_new) return at->second;
  std::vector<Candidate>& all = at->second;
  const auto add = [&](const Offer& offer, const std::vector<Argument>& arguments) {
    Candidate candidate;
    candidate.written.arguments = world_->intern(arguments);
    for (const Argument& argument : arguments)
      candidate.symbols = static_cast<std::uint8_t>(candidate.symbols | symbols_of(argument));
    if (!offer.substitutions.empty()) {
      candidate.matching = offer.substitutions.front();
      all.push_back(candidate);
      return;
    }
    candidate.written.move = world_->apply(place.primitive, place.operands, candidate.written.arguments, place.choice);
    if (!world_->move(candidate.written.move).legal()) return;
    // Two texts of one move differ in choice symbols at most: the one with fewer is the simpler one.
    const auto same = std::ranges::find_if(
        all, [&](const Candidate& one) { return !one.matching && one.written.move == candidate.written.move; });
    if (same == all.end()) {
      all.push_back(candidate);
    } else if (candidate.symbols < same->symbols) {
      *same = candidate;
    }
  };
  const bool closes = world_->catalog()[static_cast<std::size_t>(place.primitive)]->closing_weight > 0.0;
  for (const bool closing : {false, true}) {
    if (closing && !closes) continue;
    for (const Offer& offer : offers_of(*world_, place.primitive, place.operands, place.open, closing))
      any_combination(offer, [&](const std::vector<Argument>& arguments) {
        add(offer, arguments);
        return false;
      });
  }
  return all;
}

/// Puts the value in place of the symbol in every step, and closes the gap in the numbers of symbols.
bool Enumeration::rewrite(std::vector<GrownStep>& steps, const Substitution& by) {
  const std::vector<Substitution> all = without_gap(by, open_symbols(*world_, steps));
  for (GrownStep& step : steps) {
    const int primitive = world_->move(step.written.move).primitive;
    Operands operands{no_id, no_id};
    for (std::size_t i = 0; i < operands.size(); ++i)
      if (step.operands[i] >= 0) operands[i] = shape_of(steps, step.operands[i]);
    step.written.arguments = world_->substituted(step.written.arguments, all);
    step.written.move = world_->apply(primitive, operands, step.written.arguments, choice_);
    if (!world_->move(step.written.move).legal()) return false;
  }
  return true;
}

bool Enumeration::in_order(const Draft& draft, MoveId move, std::array<std::int16_t, 2> operands) const {
  if (draft.steps.empty() || draft.matched) return true;
  const auto last = static_cast<std::int16_t>(draft.steps.size());
  if (operands[0] == last || operands[1] == last) return true;
  const GrownStep& before = draft.steps.back();
  // The same step twice is two maps with weights of their own.
  return std::pair(before.operands, before.written.move) <= std::pair(operands, move);
}

/// Steps that are needed at least to read all that nothing reads yet and to end with the output's shape. One step that
/// joins two tensors may be what both of them need.
int Enumeration::least_steps(std::span<const GrownStep> steps) const {
  std::uint32_t read = 0;
  for (const GrownStep& step : steps)
    for (const std::int16_t operand : step.operands)
      if (operand >= 0) read |= 1U << static_cast<unsigned>(operand);
  const int unread = static_cast<int>(steps.size()) + 1 - std::popcount(read);
  return unread > 1 ? unread - 1 : world_->shape(shape_of(steps, static_cast<int>(steps.size()))).least_steps;
}

bool Enumeration::has_idle_step(std::span<const GrownStep> steps) {
  std::array<int, most_primitives + 1> reads{};
  for (const GrownStep& step : steps)
    for (const std::int16_t operand : step.operands)
      if (operand >= 0) ++reads[static_cast<std::size_t>(operand)];
  for (std::size_t i = 0; i < steps.size(); ++i)
    for (std::size_t k = 0; k < i; ++k)
      if (steps[k].operands == steps[i].operands && steps[k].written.move == steps[i].written.move &&
          !world_->move(steps[i].written.move).weighted)
        return true;
  for (const GrownStep& step : steps)
    for (const std::int16_t operand : step.operands)
      if (operand > 0 && reads[static_cast<std::size_t>(operand)] == 1 &&
          former_.wastes(steps[static_cast<std::size_t>(operand) - 1].written.move, step.written.move))
        return true;
  return false;
}

/// Whether no earlier choice gives these symbols the same values: the kernel was listed with that one.
bool Enumeration::has_first_choice(std::uint8_t symbols) const {
  const auto& choices = world_->options().choices;
  const Binding& own = choices[static_cast<std::size_t>(choice_)];
  for (int c = 0; c < choice_; ++c) {
    bool agrees = true;
    for (std::size_t i = 0; i < choice_symbols.size(); ++i)
      agrees = agrees && ((symbols >> i & 1U) == 0 ||
                          choices[static_cast<std::size_t>(c)][choice_symbols[i]] == own[choice_symbols[i]]);
    if (agrees) return false;
  }
  return true;
}

void Enumeration::finish(const Draft& draft) {
  const std::span<const GrownStep> steps = draft.steps;
  const bool fits = world_->shape(shape_of(steps, static_cast<int>(steps.size()))).output;
  if (!fits || !has_first_choice(draft.symbols)) return;
  ++counts_.grown;
  if (options_.local_rules && has_idle_step(steps)) {
    ++counts_.idle;
    return;
  }
  if (cluster_ != nullptr) {
    note(draft);
    return;
  }
  if (options_.forms && !forms_.insert(former_.identity(steps)).second) {
    ++counts_.same_form;
    return;
  }
  const auto function = semantics_.fingerprint(steps, open_symbols(*world_, steps));
  if (function && !functions_.insert(*function).second) {
    ++counts_.same_function;
    return;
  }
  counts_.unidentified += function ? 0 : 1;
  ++counts_.distinct;
  (*found_)({choice_, steps, function});
}

void Enumeration::extend_by(const Draft& draft, int left, const Candidate& candidate, int primitive,
                            std::array<std::int16_t, 2> operands) {
  Draft next = draft;
  next.symbols = static_cast<std::uint8_t>(next.symbols | candidate.symbols);
  next.matched = candidate.matching.has_value();
  GrownStep step{candidate.written, operands};
  if (candidate.matching) {
    if (!rewrite(next.steps, *candidate.matching)) return;
    const Operands shapes{shape_of(next.steps, operands[0]), shape_of(next.steps, operands[1])};
    step.written.move = world_->apply(primitive, shapes, step.written.arguments, choice_);
    if (!world_->move(step.written.move).legal()) return;
  }
  next.steps.push_back(step);
  if (least_steps(next.steps) <= left - 1) extend(next, left - 1);
}

void Enumeration::extend(const Draft& draft, int left) {
  if (left == stop_at_) {
    prefix_(draft);
    return;
  }
  const auto tensors = static_cast<std::int16_t>(draft.steps.size() + 1);
  const int open = open_symbols(*world_, draft.steps);
  const Catalog catalog = world_->catalog();
  for (std::size_t p = 0; p < catalog.size(); ++p) {
    if (world_->options().weights[p] <= 0.0) continue;
    const bool binary = catalog[p]->operands == 2;
    for (std::int16_t a = 0; a < tensors; ++a) {
      for (std::int16_t b = binary ? 0 : -1; b < (binary ? tensors : 0); ++b) {
        if (a == b) continue;
        const Operands shapes{shape_of(draft.steps, a), binary ? shape_of(draft.steps, b) : no_id};
        for (const Candidate& candidate : candidates({static_cast<int>(p), shapes, open, choice_}))
          if (candidate.matching || in_order(draft, candidate.written.move, {a, b}))
            extend_by(draft, left, candidate, static_cast<int>(p), {a, b});
      }
    }
  }
}

void Enumeration::list_all(int primitives) {
  for (choice_ = 0; choice_ < static_cast<int>(world_->options().choices.size()); ++choice_) extend({}, primitives);
}

LengthCounts Enumeration::list(int primitives, const std::function<void(const EnumeratedKernel&)>& found) {
  KASIMIR_CHECK(primitives >= 1 && primitives <= most_primitives, "{} primitives", primitives);
  counts_ = {};
  found_ = &found;
  stop_at_ = 0;
  prefix_ = [this](const Draft& draft) { finish(draft); };
  list_all(primitives);
  return counts_;
}

// --- estimates ----------------------------------------------------------------------------------------------------

/// Counts a kernel of the sample by what it computes; what has no fingerprint counts by its normal form.
void Enumeration::note(const Draft& draft) {
  const Identity form = former_.identity(draft.steps);
  if (forms_.contains(form)) return;
  const auto function = semantics_.fingerprint(draft.steps, open_symbols(*world_, draft.steps));
  if (function && functions_.contains(*function)) return;
  ++cluster_->kept;
  ++cluster_->functions[function ? std::pair(function->high, function->low) : std::pair(form.high, form.low)];
}

namespace {

/// The sum over all of `population` from values of some drawn without replacement, and its standard error.
std::pair<double, double> total_of(const std::vector<double>& values, double population) {
  const auto n = static_cast<double>(values.size());
  double sum = 0.0;
  double squares = 0.0;
  for (const double value : values) sum += value;
  for (const double value : values) squares += (value - sum / n) * (value - sum / n);
  const double left = std::max(0.0, 1.0 - n / population);
  return {population * sum / n, population * std::sqrt(left * squares / ((n - 1) * n))};
}

}  // namespace

LengthEstimate Enumeration::estimate(int primitives, std::size_t prefixes, std::uint64_t seed) {
  KASIMIR_CHECK(primitives >= 2 && primitives <= most_primitives && prefixes >= 2, "{} primitives, {} prefixes",
                primitives, prefixes);
  LengthEstimate result;
  // Vitter's algorithm R: each draft is in the sample with the same probability.
  std::vector<std::pair<int, Draft>> sample;
  Rng rng(seed, 0);
  stop_at_ = 1;
  prefix_ = [&](const Draft& draft) {
    const std::uint64_t place = result.prefixes++;
    if (place < prefixes) {
      sample.emplace_back(choice_, draft);
    } else if (const std::uint64_t drawn = rng.below(place + 1); drawn < prefixes) {
      sample[drawn] = {choice_, draft};
    }
  };
  list_all(primitives);
  stop_at_ = 0;
  prefix_ = [this](const Draft& draft) { finish(draft); };
  result.sampled = sample.size();
  if (sample.size() < 2) return result;

  std::vector<double> grown;
  std::vector<double> kept;
  std::vector<double> distinct;
  double pairs_within = 0.0;
  std::map<std::pair<std::uint64_t, std::uint64_t>, double> in_all;
  for (const auto& [choice, draft] : sample) {
    Cluster cluster;
    cluster_ = &cluster;
    choice_ = choice;
    counts_ = {};
    extend(draft, 1);
    grown.push_back(static_cast<double>(counts_.grown));
    kept.push_back(static_cast<double>(cluster.kept));
    distinct.push_back(static_cast<double>(cluster.functions.size()));
    result.kernels += counts_.grown;
    for (const auto& [function, count] : cluster.functions) {
      const auto m = static_cast<double>(count);
      pairs_within += m * m;
      in_all[function] += m;
    }
  }
  cluster_ = nullptr;
  const auto population = static_cast<double>(result.prefixes);
  const auto n = static_cast<double>(sample.size());
  std::tie(result.grown, result.grown_error) = total_of(grown, population);
  std::tie(result.kept, result.kept_error) = total_of(kept, population);
  result.most_distinct = total_of(distinct, population).first;
  double pairs = 0.0;
  for (const auto& [function, count] : in_all) pairs += count * count;
  // Pairs within a prefix and pairs across two are drawn with different probabilities.
  const double equal =
      population / n * pairs_within + population * (population - 1) / (n * (n - 1)) * (pairs - pairs_within);
  result.least_distinct = equal > 0.0 ? result.kept * result.kept / equal : 0.0;
  return result;
}

}  // namespace kasimir
