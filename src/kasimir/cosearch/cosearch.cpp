// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/cosearch.h"

#include "kasimir/base/error.h"
#include "kasimir/base/stopwatch.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

constexpr double infinity = std::numeric_limits<double>::infinity();

// Streams of random numbers: one for each step and purpose, so that nothing has to be kept to resume.
enum class Stream : std::uint64_t { weights, choices, first_design };
Rng stream(std::uint64_t seed, std::size_t step, Stream purpose) {
  return Rng(seed, 4 * static_cast<std::uint64_t>(step) + static_cast<std::uint64_t>(purpose));
}

void require_sane(const ChoiceTrainer& trainer, const ChoiceSpace& space, const CosearchOptions& options) {
  require_legal(space);
  if (!(options.target > 0)) throw input_error("a target of {}, needed: a cost above 0", options.target);
  if (options.look_every == 0) throw input_error("looks every 0 steps, needed: at least 1");
  KASIMIR_CHECK(trainer.weight_step && trainer.choice_step && trainer.validate, "a trainer without functions");
  for (const auto* fixed : {&options.fixed.ops, &options.fixed.bits})
    if (*fixed && (*fixed)->size() != space.blocks.size())
      throw input_error("{} fixed choices, needed: one for each of {} blocks", (*fixed)->size(), space.blocks.size());
}

void fix_row(std::vector<double>& logits, std::size_t place) {
  KASIMIR_CHECK(place < logits.size(), "place {} of {}", place, logits.size());
  for (std::size_t i = 0; i < logits.size(); ++i)
    if (i != place) logits[i] = -infinity;
}

ChoiceNumbers first_logits(const ChoiceSpace& space, const CosearchOptions& options) {
  ChoiceNumbers logits = choice_numbers(space, options.mode.first_logit);
  for (std::size_t l = 0; l < space.blocks.size(); ++l) {
    if (options.fixed.ops) fix_row(logits.op[l], (*options.fixed.ops)[l]);
    if (options.fixed.bits)
      for (auto& row : logits.bits[l]) fix_row(row, (*options.fixed.bits)[l]);
  }
  return logits;
}

class Search {
 public:
  Search(const ChoiceTrainer& trainer, HardwareTarget& hardware, const CosearchOptions& options,
         std::optional<CosearchState> resume)
      : trainer_(trainer), hardware_(hardware), options_(options), adam_(hardware.space()), control_(options.control) {
    require_sane(trainer, hardware.space(), options);
    if (resume)
      take_up(std::move(*resume));
    else
      state_.logits = first_logits(hardware.space(), options);
  }

  CosearchResult run() {
    bool go_on = warm_up();
    if (!accelerator_) make_first_accelerator();
    if (go_on && state_.choice_steps == 0 && options_.warmed_up) go_on = options_.warmed_up();
    while (go_on && state_.choice_steps < options_.choice_steps) go_on = step();
    return finish();
  }

 private:
  [[nodiscard]] bool stays() const { return options_.optimise_every == 0; }

  void take_up(CosearchState state) {
    state_ = std::move(state);
    adam_.first = state_.first_moment;
    adam_.second = state_.second_moment;
    adam_.steps = static_cast<int>(state_.choice_steps);
    control_.set_state(state_.control);
    if (options_.accelerator)
      accelerator_ = options_.accelerator;
    else if (!state_.accelerator_of.empty())
      accelerator_ = hardware_.optimise(state_.accelerator_of);
  }

  // Times what the accelerator side takes.
  template <typename Work>
  auto on_accelerator(const Work& work) {
    const Stopwatch watch;
    auto result = work();
    state_.accelerator_seconds += watch.seconds();
    return result;
  }

  [[nodiscard]] double progress_of_weights() const {
    return static_cast<double>(state_.weight_steps) /
           static_cast<double>(std::max<std::size_t>(1, options_.warmup_steps + options_.choice_steps));
  }
  [[nodiscard]] double progress_of_choices() const {
    return static_cast<double>(state_.choice_steps) / static_cast<double>(options_.choice_steps);
  }

  // Temperatures fall with the choices: during the warm-up they stand at their start.
  double weight_step() {
    Rng rng = stream(options_.seed, state_.weight_steps, Stream::weights);
    const ChoiceDraw draw = draw_for_weights(options_.mode, state_.logits, progress_of_choices(), rng);
    const double loss = trainer_.weight_step(draw.sample, progress_of_weights());
    state_.spent += trainer_.weight_step_cost;
    ++state_.weight_steps;
    return loss;
  }

  bool warm_up() {
    while (state_.weight_steps < options_.warmup_steps) {
      const Stopwatch watch;
      loss_ = weight_step();
      state_.seconds += watch.seconds();
      if (!report("warm-up", state_.weight_steps, options_.warmup_steps)) return false;
    }
    return true;
  }

  // For some network within the target: equal probabilities say nothing about which.
  void make_first_accelerator() {
    const Stopwatch watch;
    if (options_.accelerator) {
      accelerator_ = options_.accelerator;
    } else {
      const ChoiceDesign first = on_accelerator([&] { return first_design(); });
      make_accelerator(first);
    }
    state_.seconds += watch.seconds();
  }

  ChoiceDesign first_design() {
    Rng rng = stream(options_.seed, 0, Stream::first_design);
    ChoiceTable scores = log_probabilities(probabilities(state_.logits));
    for (auto& block : scores)
      for (auto& row : block)
        for (double& score : row) score += rng.unit();
    const ChoiceDesign likeliest = most_likely(state_.logits);
    DecodeOptions decode_options = options_.decode;
    decode_options.best = 1;
    const DecodeAnswer answer = decode(scores, adapted_limit(hardware_, options_.target, likeliest), decode_options);
    return answer.designs.empty() ? likeliest : answer.designs.front().design;
  }

  void make_accelerator(const ChoiceDesign& design) {
    state_.accelerator_of = design;
    accelerator_ = on_accelerator([&] { return hardware_.optimise(design); });
  }

  double derived_cost(const ChoiceDesign& design) {
    return on_accelerator([&] { return stays() ? hardware_.cost_on(*accelerator_, design) : hardware_.cost(design); });
  }

  [[nodiscard]] CostForm form() const {
    return options_.form ? *options_.form : suited_form(*accelerator_, !stays() && hardware_.adapts());
  }

  MeanCost cost_of_step(const ChoiceDraw& draw) {
    return on_accelerator([&] {
      if (form() == CostForm::original) return original_cost(*accelerator_, draw, state_.logits, options_.target);
      return mean_cost(form(), *accelerator_, state_.logits, options_.target, options_.tau);
    });
  }

  bool step() {
    const Stopwatch watch;
    weight_step();
    choose();
    ++state_.choice_steps;
    if (state_.choice_steps % options_.look_every == 0) look();
    if (!stays() && hardware_.adapts() && state_.choice_steps % options_.optimise_every == 0)
      make_accelerator(most_likely(state_.logits));
    if (options_.validate_every > 0 && state_.choice_steps % options_.validate_every == 0) validate_best();
    state_.seconds += watch.seconds();
    if (options_.save && options_.save_every > 0 && state_.choice_steps % options_.save_every == 0)
      options_.save(current());
    return report("search", state_.choice_steps, options_.choice_steps);
  }

  void choose() {
    Rng rng = stream(options_.seed, state_.choice_steps, Stream::choices);
    const ChoiceDraw draw = draw_for_choices(options_.mode, state_.logits, progress_of_choices(), rng);
    const ChoiceSlopes slopes = trainer_.choice_step(draw.sample);
    state_.spent += trainer_.choice_step_cost * static_cast<double>(draw.sample.blocks.front().active.size());
    loss_ = slopes.loss;
    ChoiceNumbers total = slopes_by_logits(options_.mode, state_.logits, draw, slopes);
    const MeanCost mean = cost_of_step(draw);
    mean_cost_ = mean.cost;
    add(total, mean.slopes, control_.weight(mean.cost));
    const ChoiceNumbers before = state_.logits;
    adam_.descend(state_.logits, total, options_.mode.rate);
    if (options_.mode.offset_rule) keep_probabilities_of_others(draw, before, state_.logits);
  }

  void look() {
    state_.derived_cost = derived_cost(most_likely(state_.logits)) / options_.target;
    control_.update(mean_cost_, state_.derived_cost);
  }

  DecodeAnswer decode_now(std::size_t best) {
    return on_accelerator([&] {
      DecodeOptions decode_options = options_.decode;
      decode_options.best = best;
      const ChoiceTable scores = log_probabilities(probabilities(state_.logits));
      const CostLimit limit = stays() ? fixed_limit(hardware_, *accelerator_, options_.target)
                                      : adapted_limit(hardware_, options_.target, most_likely(state_.logits));
      return decode(scores, limit, decode_options);
    });
  }

  double validate(const ChoiceDesign& design, double cost) {
    const double score = trainer_.validate(design);
    state_.spent += trainer_.validation_cost;
    state_.archive.add({design, score, cost, state_.choice_steps});
    return score;
  }

  void validate_best() {
    const DecodeAnswer answer = decode_now(1);
    if (answer.designs.empty() || state_.archive.find(answer.designs.front().design) != nullptr) return;
    validate(answer.designs.front().design, answer.designs.front().cost);
  }

  CosearchResult finish() {
    const Stopwatch watch;
    CosearchResult result;
    result.finished = state_.choice_steps >= options_.choice_steps;
    result.likeliest = most_likely(state_.logits);
    result.likeliest_cost = derived_cost(result.likeliest);
    const DecodeAnswer answer = decode_now(options_.decode.best);
    result.decoded_exactly = answer.exact;
    for (const Decoded& one : answer.designs) {
      result.finalists.push_back({one.design, validate(one.design, one.cost), one.cost, one.score});
      report("validation", result.finalists.size(), answer.designs.size());
    }
    std::stable_sort(result.finalists.begin(), result.finalists.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    state_.seconds += watch.seconds();
    result.state = current();
    return result;
  }

  CosearchState current() {
    state_.first_moment = adam_.first;
    state_.second_moment = adam_.second;
    state_.control = control_.state();
    return state_;
  }

  bool report(std::string_view phase, std::size_t step, std::size_t steps) {
    if (options_.progress) {
      const ArchiveEntry* best = state_.archive.best(options_.target);
      options_.progress({phase, step, steps, loss_, mean_cost_, state_.derived_cost, control_.state(),
                         mean_entropy(probabilities(state_.logits)), best == nullptr ? 0 : best->score, state_.seconds,
                         state_.accelerator_seconds});
    }
    return !(options_.should_stop && options_.should_stop());
  }

  const ChoiceTrainer& trainer_;
  HardwareTarget& hardware_;
  const CosearchOptions& options_;
  ChoiceAdam adam_;
  TargetControl control_;
  CosearchState state_;
  std::optional<Accelerator> accelerator_;
  double loss_ = 0, mean_cost_ = 0;
};

}  // namespace

double CosearchResult::accelerator_share() const {
  return state.seconds > 0 ? state.accelerator_seconds / state.seconds : 0;
}

CostForm suited_form(const Accelerator& accelerator, bool optimised_again) {
  constexpr double alone = 0.99;  // one part has nearly all of the weight
  const bool several =
      std::none_of(accelerator.duals.begin(), accelerator.duals.end(), [](double dual) { return dual > alone; });
  return optimised_again && several ? CostForm::duals : CostForm::smooth_max;
}

CosearchResult cosearch(const ChoiceTrainer& trainer, HardwareTarget& hardware, const CosearchOptions& options,
                        std::optional<CosearchState> resume) {
  return Search(trainer, hardware, options, std::move(resume)).run();
}

}  // namespace kasimir
