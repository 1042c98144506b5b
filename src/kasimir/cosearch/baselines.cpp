// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/baselines.h"

#include "kasimir/base/error.h"
#include "kasimir/base/rng.h"
#include "kasimir/base/stopwatch.h"
#include "kasimir/base/text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kasimir {
namespace {

constexpr std::array<std::string_view, 7> names{"joint",      "operators_only", "bits_only", "accelerator_only",
                                                "sequential", "random",         "original"};

// Runs one method with one trainer, so that searches that follow each other go on with its weights.
class Method {
 public:
  Method(const TrainerFactory& factory, HardwareTarget& hardware, const MethodOptions& options)
      : hardware_(hardware),
        space_(hardware.space()),
        options_(options),
        trainer_(factory(options.search.seed)),
        widest_(widest_bits(space_)) {}

  MethodResult run(SearchMethod method) {
    const Stopwatch watch;
    switch (method) {
      case SearchMethod::joint:
        search(options_.search);
        break;
      case SearchMethod::operators_only:
        operators_only();
        break;
      case SearchMethod::bits_only:
        bits_only();
        break;
      case SearchMethod::accelerator_only:
        accelerator_only();
        break;
      case SearchMethod::sequential:
        sequential();
        break;
      case SearchMethod::random:
        random();
        break;
      case SearchMethod::original:
        original();
        break;
    }
    finish(watch.seconds());
    return std::move(result_);
  }

 private:
  // Of the whole method, for the learning rate: searches that follow each other share one schedule.
  ChoiceTrainer with_progress(std::size_t all_weight_steps) {
    ChoiceTrainer shared = trainer_;
    shared.weight_step = [this, all_weight_steps](const ChoiceSample& sample, double) {
      return trainer_.weight_step(sample, static_cast<double>(weight_steps_++) / static_cast<double>(all_weight_steps));
    };
    return shared;
  }

  CosearchResult search(const CosearchOptions& options, std::size_t all_weight_steps = 0) {
    if (all_weight_steps == 0) all_weight_steps = options.warmup_steps + options.choice_steps;
    CosearchResult found = cosearch(with_progress(std::max<std::size_t>(1, all_weight_steps)), hardware_, options);
    for (const ArchiveEntry& entry : found.state.archive.entries()) result_.archive.add(entry);
    result_.spent += found.state.spent;
    result_.accelerator_seconds += found.state.accelerator_seconds;
    return found;
  }

  void operators_only() {
    CosearchOptions one = options_.search;
    one.fixed.bits = std::vector<std::size_t>(space_.blocks.size(), widest_);
    search(one);
  }

  // Of each block the operator whose loads at the widest bits add up to most in the table of the bound.
  std::vector<std::size_t> costliest_ops() {
    std::vector<std::size_t> ops;
    const LoadTable& loads = hardware_.bound(ChoiceDesign(space_.blocks.size(), {0, widest_})).loads;
    for (std::size_t l = 0; l < space_.blocks.size(); ++l) {
      std::size_t most = 0;
      double largest = -1;
      for (std::size_t o = 0; o < space_.blocks[l].ops.size(); ++o) {
        const double sum = total_load(loads.loads[l][o][widest_]);
        if (sum <= largest) continue;
        largest = sum;
        most = o;
      }
      ops.push_back(most);
    }
    return ops;
  }

  // Of one step of weights and one of choices; with fixed operators one path is computed instead of all that are drawn.
  [[nodiscard]] double step_cost(bool ops_are_fixed) const {
    const std::size_t paths = ops_are_fixed ? 1 : std::max<std::size_t>(1, options_.search.mode.paths);
    return trainer_.weight_step_cost + static_cast<double>(paths) * trainer_.choice_step_cost;
  }

  // More steps than the joint search, since each is cheaper.
  void bits_only() {
    CosearchOptions one = options_.search;
    const double budget = static_cast<double>(one.choice_steps) * step_cost(false);
    one.choice_steps = static_cast<std::size_t>(budget / step_cost(true));
    if (one.validate_every > 0)
      one.validate_every =
          one.validate_every * one.choice_steps / std::max<std::size_t>(1, options_.search.choice_steps);
    one.fixed.ops = costliest_ops();
    search(one);
  }

  // As many steps for operators as for bits; networks are validated in the last phase only.
  void sequential() {
    const std::size_t sweeps = options_.multiples.size();
    if (sweeps == 0) throw input_error("a sequential search without first targets, needed: at least one");
    const double budget = static_cast<double>(options_.search.choice_steps) * step_cost(false);
    const double of_both = static_cast<double>(sweeps) * (step_cost(false) + step_cost(true));
    const std::size_t steps = std::max<std::size_t>(1, static_cast<std::size_t>(budget / of_both));
    const std::size_t all = options_.search.warmup_steps + 2 * sweeps * steps;
    const std::size_t best = std::max<std::size_t>(1, options_.search.decode.best / sweeps);
    for (std::size_t i = 0; i < sweeps; ++i) {
      CosearchOptions first = options_.search;
      first.seed = options_.search.seed + 1000 * (2 * i);
      first.warmup_steps = i == 0 ? options_.search.warmup_steps : 0;
      first.choice_steps = steps;
      first.validate_every = 0;
      first.target *= options_.multiples[i];
      first.fixed.bits = std::vector<std::size_t>(space_.blocks.size(), widest_);
      first.decode.best = 1;
      const CosearchResult ops = search_unvalidated(first, all);
      const ChoiceDesign& design = ops.finalists.empty() ? ops.likeliest : ops.finalists.front().design;
      CosearchOptions second = options_.search;
      second.seed = options_.search.seed + 1000 * (2 * i + 1);
      second.warmup_steps = 0;
      second.choice_steps = steps;
      second.validate_every = 0;
      second.fixed.ops = std::vector<std::size_t>{};
      for (const BlockChoice& choice : design) second.fixed.ops->push_back(choice.op);
      second.decode.best = best;
      search(second, all);
    }
  }

  // The first phase needs the decoded network, not its score.
  CosearchResult search_unvalidated(const CosearchOptions& options, std::size_t all_weight_steps) {
    ChoiceTrainer blind = with_progress(all_weight_steps);
    blind.validate = [](const ChoiceDesign&) { return 0.0; };
    blind.validation_cost = 0;
    CosearchResult found = cosearch(blind, hardware_, options);
    result_.spent += found.state.spent;
    result_.accelerator_seconds += found.state.accelerator_seconds;
    return found;
  }

  // Weights of all choices alike, without choice steps.
  void train_weights(std::size_t steps) {
    const ChoiceNumbers equal = choice_numbers(space_);
    for (std::size_t i = 0; i < steps; ++i) {
      Rng rng(options_.search.seed, 2 * i);
      const double progress = static_cast<double>(i) / static_cast<double>(steps);
      trainer_.weight_step(draw_for_weights(options_.search.mode, equal, progress, rng).sample, progress);
      result_.spent += trainer_.weight_step_cost;
    }
  }

  void validate(const ChoiceDesign& design, double cost) {
    if (result_.archive.find(design) != nullptr) return;
    result_.archive.add({design, trainer_.validate(design), cost, 0});
    result_.spent += trainer_.validation_cost;
  }

  double timed_cost(const ChoiceDesign& design) {
    const Stopwatch watch;
    const double cost = hardware_.cost(design);
    result_.accelerator_seconds += watch.seconds();
    return cost;
  }

  [[nodiscard]] double left() const { return budget_of(options_.search, trainer_) - result_.spent; }
  [[nodiscard]] std::size_t steps_for(double budget) const {
    return static_cast<std::size_t>(std::max(1.0, budget / trainer_.weight_step_cost));
  }

  void accelerator_only() {
    std::vector<Decoded> uniform;
    std::size_t most_ops = 0;
    for (const BlockSpace& block : space_.blocks) most_ops = std::max(most_ops, block.ops.size());
    for (std::size_t o = 0; o < most_ops; ++o)
      for (std::size_t j = 0; j < space_.bits.size(); ++j) {
        ChoiceDesign design;
        for (const BlockSpace& block : space_.blocks) design.push_back({std::min(o, block.ops.size() - 1), j});
        const double cost = timed_cost(design);
        if (cost <= options_.search.target) uniform.push_back({design, 0, cost});
      }
    std::stable_sort(uniform.begin(), uniform.end(), [](const auto& a, const auto& b) { return a.cost > b.cost; });
    uniform.resize(std::min(uniform.size(), options_.search.decode.best));
    train_weights(steps_for(left() - static_cast<double>(uniform.size()) * trainer_.validation_cost));
    for (const Decoded& one : uniform) validate(one.design, one.cost);
  }

  // What the joint search spends on choices goes into validations.
  void random() {
    train_weights(options_.search.warmup_steps + options_.search.choice_steps);
    Rng rng(options_.search.seed, 1);
    constexpr int most_misses = 50;
    for (int misses = 0; left() >= trainer_.validation_cost && misses < most_misses;) {
      const std::optional<Decoded> one = random_within_target(rng);
      const bool fresh = one && result_.archive.find(one->design) == nullptr;
      misses = fresh ? 0 : misses + 1;
      if (fresh) validate(one->design, one->cost);
    }
  }

  std::optional<Decoded> random_within_target(Rng& rng) {
    constexpr int tries = 200;
    for (int i = 0; i < tries; ++i) {
      ChoiceDesign design = random_design(space_, rng);
      const double cost = timed_cost(design);
      if (cost <= options_.search.target) return Decoded{std::move(design), 0, cost};
    }
    // Hardly any network meets the target: the best by random scores is one that does.
    ChoiceTable scores = choice_table(space_);
    for (auto& block : scores)
      for (auto& row : block)
        for (double& score : row) score = rng.unit();
    const ChoiceDesign near(space_.blocks.size());
    const DecodeAnswer answer = decode(scores, adapted_limit(hardware_, options_.search.target, near), {.best = 1});
    if (answer.designs.empty()) return std::nullopt;
    return answer.designs.front();
  }

  void original() {
    CosearchOptions one = options_.search;
    one.mode = sampling_mode("proxy");
    one.form = CostForm::original;
    one.control.control = Control::doubling;
    one.look_every = original_look_every(one.choice_steps);
    search(one);
  }

  void finish(double seconds) {
    for (const ArchiveEntry& entry : result_.archive.entries())
      if (within_target(entry.cost, options_.search.target))
        result_.finalists.push_back({entry.design, entry.score, entry.cost, 0});
    std::stable_sort(result_.finalists.begin(), result_.finalists.end(),
                     [](const auto& a, const auto& b) { return a.score > b.score; });
    result_.finalists.resize(std::min(result_.finalists.size(), options_.search.decode.best));
    result_.seconds = seconds;
  }

  HardwareTarget& hardware_;
  const ChoiceSpace& space_;
  const MethodOptions& options_;
  ChoiceTrainer trainer_;
  std::size_t widest_;
  std::size_t weight_steps_ = 0;
  MethodResult result_;
};

}  // namespace

std::string_view name_of(SearchMethod method) { return names[static_cast<std::size_t>(method)]; }

SearchMethod parse_search_method(std::string_view name) {
  for (std::size_t i = 0; i < names.size(); ++i)
    if (names[i] == name) return static_cast<SearchMethod>(i);
  throw input_error("unknown way to search `{}`", name).note(suggestion(name, {names.begin(), names.end()}));
}

const std::vector<SearchMethod>& search_methods() {
  static const std::vector<SearchMethod> all{
      SearchMethod::joint,      SearchMethod::operators_only, SearchMethod::bits_only, SearchMethod::accelerator_only,
      SearchMethod::sequential, SearchMethod::random,         SearchMethod::original};
  return all;
}

std::size_t original_look_every(std::size_t choice_steps) {
  constexpr std::size_t epochs = 90;  // of its search on CIFAR, after 30 of warm-up
  return std::max<std::size_t>(1, choice_steps / epochs);
}

double budget_of(const CosearchOptions& options, const ChoiceTrainer& trainer) {
  const auto steps = static_cast<double>(options.choice_steps);
  const double paths = static_cast<double>(std::max<std::size_t>(options.mode.paths, 1));
  const double looks =
      options.validate_every == 0 ? 0 : std::floor(steps / static_cast<double>(options.validate_every));
  return (static_cast<double>(options.warmup_steps) + steps) * trainer.weight_step_cost +
         steps * paths * trainer.choice_step_cost +
         (looks + static_cast<double>(options.decode.best)) * trainer.validation_cost;
}

MethodResult run_method(SearchMethod method, const TrainerFactory& factory, HardwareTarget& hardware,
                        const MethodOptions& options) {
  return Method(factory, hardware, options).run(method);
}

}  // namespace kasimir
