// SPDX-License-Identifier: Apache-2.0
#include "kasimir/cosearch/bed/planted.h"

#include "kasimir/base/error.h"
#include "kasimir/base/table.h"
#include "kasimir/cosearch/bed/branches.h"

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kasimir {
namespace {

constexpr std::size_t branches = 9;

// Cosine from the first rate to a hundredth of it.
double rate_at(double progress) {
  constexpr double first = 0.01, end = 0.0001;
  return end + (first - end) * 0.5 * (1 + std::cos(std::numbers::pi * progress));
}

double squared_error(const std::vector<double>& got, const std::vector<double>& wanted) {
  double sum = 0;
  for (std::size_t e = 0; e < got.size(); ++e) sum += (got[e] - wanted[e]) * (got[e] - wanted[e]);
  return sum / static_cast<double>(got.size());
}

// The mean squared errors of all branches, each trained alone with one width; for one restart with first weights and
// data that are the same for all widths.
std::vector<double> errors_alone(const BranchTeacher& teacher, const PlantedProblem& problem, std::size_t j,
                                 std::uint64_t restart, const PlantedOptions& options) {
  constexpr std::size_t held_out = 1000;
  Rng rng(problem.seed, 10 + restart);
  std::vector<BranchNet> nets;
  for (std::size_t b = 0; b < branches; ++b) nets.emplace_back(problem.bits, rng);
  const std::vector<double> mix = one_hot(problem.bits.size(), j);
  const std::size_t steps = options.warmup_steps + options.choice_steps;
  for (std::size_t s = 0; s < steps; ++s) {
    const BranchBatch batch = teacher.batch(options.batch, rng);
    for (std::size_t b = 0; b < branches; ++b) {
      std::vector<double> slopes = nets[b].forward(batch.inputs[b], mix, true);
      for (std::size_t e = 0; e < slopes.size(); ++e) slopes[e] -= batch.wanted[b][e];
      nets[b].backward(slopes);
      nets[b].descend(rate_at(static_cast<double>(s) / static_cast<double>(steps)));
    }
  }
  const BranchBatch batch = teacher.batch(held_out, rng);
  std::vector<double> errors;
  for (std::size_t b = 0; b < branches; ++b)
    errors.push_back(squared_error(nets[b].forward(batch.inputs[b], mix, false), batch.wanted[b]));
  return errors;
}

// Squared amplitude for a price of 1 per bit that makes width number `wanted` of 2, 4, 8 the best, where going from 2
// to 4 bits saves more error per bit than going on to 8.
double planted_square(const std::vector<double>& e, std::size_t wanted) {
  constexpr double margin = 2.5, least = 0.1;  // gains below a tenth are noise of the training
  const double to_middle = 2 / std::max(e[0] - e[1], least * e[0]);
  const double to_wide = 4 / std::max(e[1] - e[2], least * e[1]);
  if (wanted == 0) return to_middle / margin;
  if (wanted == 2) return margin * to_wide;
  return std::sqrt(to_middle * to_wide);
}

// All branches with shared targets, as a search trains them.
class PlantedSearch {
 public:
  PlantedSearch(const PlantedProblem& problem, const SamplingMode& mode, const PlantedOptions& options)
      : problem_(problem), mode_(mode), options_(options), teacher_(branches, problem.seed), rng_(problem.seed, 20) {
    for (std::size_t b = 0; b < branches; ++b) {
      space_.blocks.push_back({fmt::format("branch{}", b + 1), {"mlp"}});
      nets_.emplace_back(problem.bits, rng_);
    }
    space_.bits = problem.bits;
    logits_ = choice_numbers(space_, mode.first_logit);
  }

  PlantedChoice run() {
    ChoiceAdam adam(space_);
    const std::size_t steps = options_.warmup_steps + options_.choice_steps;
    for (std::size_t s = 0; s < steps; ++s) {
      const std::size_t chosen = s < options_.warmup_steps ? 0 : s - options_.warmup_steps;
      const double progress = static_cast<double>(chosen) / static_cast<double>(options_.choice_steps);
      weight_step(progress, static_cast<double>(s) / static_cast<double>(steps));
      if (s >= options_.warmup_steps) choice_step(progress, adam);
    }
    PlantedChoice choice;
    for (const BlockChoice& one : most_likely(logits_)) choice.bits.push_back(one.bits);
    // One operator in each block has no entropy: the mean is over twice the choices.
    choice.entropy = 2 * mean_entropy(probabilities(logits_));
    return choice;
  }

 private:
  // Slopes of the squared error of the sum by the outputs, without the branch's amplitude.
  std::vector<double> forward(const BranchBatch& batch, const ChoiceSample& sample, bool training) {
    std::vector<double> error(batch.examples, 0);
    for (std::size_t b = 0; b < branches; ++b) {
      const auto& out = nets_[b].forward(batch.inputs[b], sample.blocks[b].bit_weight[0], training);
      for (std::size_t e = 0; e < error.size(); ++e) error[e] += problem_.amplitude[b] * (out[e] - batch.wanted[b][e]);
    }
    for (double& one : error) one *= 2 / static_cast<double>(batch.examples);
    return error;
  }

  std::vector<double> backward(std::size_t b, const std::vector<double>& error) {
    std::vector<double> slopes = error;
    for (double& slope : slopes) slope *= problem_.amplitude[b];
    return nets_[b].backward(slopes);
  }

  void weight_step(double progress, double of_all) {
    const ChoiceDraw draw = draw_for_weights(mode_, logits_, progress, rng_);
    const std::vector<double> error = forward(teacher_.batch(options_.batch, rng_), draw.sample, true);
    for (std::size_t b = 0; b < branches; ++b) {
      backward(b, error);
      nets_[b].descend(rate_at(of_all));
    }
  }

  void choice_step(double progress, ChoiceAdam& adam) {
    const ChoiceDraw draw = draw_for_choices(mode_, logits_, progress, rng_);
    const std::vector<double> error = forward(teacher_.batch(options_.batch, rng_), draw.sample, false);
    const ChoiceNumbers zero = zeros_like(logits_);
    ChoiceSlopes slopes{0, zero.op, zero.bits};
    for (std::size_t b = 0; b < branches; ++b) slopes.bits[b][0] = backward(b, error);
    ChoiceNumbers total = slopes_by_logits(mode_, logits_, draw, slopes);
    add_price(total);
    const ChoiceNumbers before = logits_;
    adam.descend(logits_, total, mode_.rate);
    if (mode_.offset_rule) keep_probabilities_of_others(draw, before, logits_);
  }

  // Of price x the mean bits under the probabilities.
  void add_price(ChoiceNumbers& slopes) const {
    const ChoiceNumbers p = probabilities(logits_);
    const std::vector<double> bits(problem_.bits.begin(), problem_.bits.end());
    for (std::size_t b = 0; b < branches; ++b) {
      const std::vector<double> more = through_softmax(p.bits[b][0], bits, problem_.price);
      for (std::size_t j = 0; j < bits.size(); ++j) slopes.bits[b][0][j] += more[j];
    }
  }

  const PlantedProblem& problem_;
  const SamplingMode& mode_;
  const PlantedOptions& options_;
  BranchTeacher teacher_;
  Rng rng_;
  ChoiceSpace space_;
  std::vector<BranchNet> nets_;
  ChoiceNumbers logits_;
};

double mean(const std::vector<double>& values) {
  double sum = 0;
  for (const double value : values) sum += value / static_cast<double>(values.size());
  return sum;
}

std::string sampling_text(BitSampling sampling, const Temperature& t) {
  if (sampling == BitSampling::uniform) return "uniform";
  if (sampling == BitSampling::hard) return "hard";
  return t.start == t.end ? fmt::format("soft, T {:.2g}", t.start)
                          : fmt::format("soft, T {:.2g} to {:.2g}", t.start, t.end);
}

std::string slope_text(const SamplingMode& mode) {
  if (mode.slope == SlopeRule::plain) return "plain";
  if (mode.slope == SlopeRule::raw_pair) return "raw pair";
  const Temperature& t = mode.choice_temperature;
  return t.start == t.end ? fmt::format("tempered, T {:.2g}", t.start)
                          : fmt::format("tempered, T {:.2g} to {:.2g}", t.start, t.end);
}

}  // namespace

double PlantedProblem::objective(const std::vector<std::size_t>& chosen) const {
  double sum = 0;
  for (std::size_t b = 0; b < chosen.size(); ++b)
    sum += amplitude[b] * amplitude[b] * error[b][chosen[b]] + price * bits[chosen[b]];
  return sum;
}

PlantedProblem planted_problem(std::uint64_t seed, const PlantedOptions& options) {
  PlantedProblem problem;
  problem.seed = seed;
  const BranchTeacher teacher(branches, seed);
  problem.error.assign(branches, std::vector<double>(problem.bits.size()));
  constexpr std::uint64_t restarts = 3;
  for (std::size_t j = 0; j < problem.bits.size(); ++j)
    for (std::uint64_t restart = 0; restart < restarts; ++restart) {
      const std::vector<double> errors = errors_alone(teacher, problem, j, restart, options);
      for (std::size_t b = 0; b < branches; ++b) problem.error[b][j] += errors[b] / restarts;
    }
  double sum = 0;
  for (std::size_t b = 0; b < branches; ++b) {
    const double square = planted_square(problem.error[b], b % 3);
    problem.amplitude.push_back(std::sqrt(square));
    sum += square;
  }
  // The loss is of order 1: squares of the amplitudes add up to 1, and so the price follows.
  for (double& amplitude : problem.amplitude) amplitude /= std::sqrt(sum);
  problem.price = 1 / sum;
  for (std::size_t b = 0; b < branches; ++b) {
    const auto part = [&](std::size_t j) {
      return problem.amplitude[b] * problem.amplitude[b] * problem.error[b][j] + problem.price * problem.bits[j];
    };
    std::size_t best = 0;
    for (std::size_t j = 1; j < problem.bits.size(); ++j)
      if (part(j) < part(best)) best = j;
    problem.best.push_back(best);
  }
  return problem;
}

PlantedChoice search_planted(const PlantedProblem& problem, const SamplingMode& mode, const PlantedOptions& options) {
  return PlantedSearch(problem, mode, options).run();
}

std::vector<SamplingMode> planted_modes() {
  std::vector<SamplingMode> modes(sampling_modes().begin(), sampling_modes().end());
  const auto add = [&](std::string_view of, std::string name, const auto& change) {
    SamplingMode mode = sampling_mode(of);
    mode.name = std::move(name);
    change(mode);
    modes.push_back(std::move(mode));
  };
  add("heterogeneous", "heterogeneous, hot", [](SamplingMode& m) { m.weight_temperature = {5, 0.2}; });
  add("heterogeneous", "heterogeneous, tempered", [](SamplingMode& m) {
    m.slope = SlopeRule::tempered;
    m.choice_temperature = {1, 1};
  });
  add("heterogeneous", "uniform weights", [](SamplingMode& m) { m.weight_bits = BitSampling::uniform; });
  add("soft", "soft, constant T", [](SamplingMode& m) { m.weight_temperature = m.choice_temperature = {2, 2}; });
  add("proxy", "proxy, rate 0.025", [](SamplingMode& m) { m.rate = 0.025; });
  return modes;
}

std::vector<PlantedRow> run_planted_bed(const std::vector<SamplingMode>& modes, const PlantedOptions& options) {
  if (modes.empty() || options.seeds == 0 || options.choice_steps == 0 || options.batch == 0)
    throw input_error("a bed of {} modes, {} seeds, {} choice steps, batches of {}, needed: at least 1 of each",
                      modes.size(), options.seeds, options.choice_steps, options.batch);
  std::vector<PlantedRow> rows;
  for (const SamplingMode& mode : modes) rows.push_back({mode, {}, {}, 0, 0});
  const auto seeds = static_cast<double>(options.seeds);
  for (std::size_t s = 0; s < options.seeds; ++s) {
    const PlantedProblem problem = planted_problem(options.seed * 100 + s, options);
    for (PlantedRow& row : rows) {
      const PlantedChoice choice = search_planted(problem, row.mode, options);
      double wrong = 0;
      for (std::size_t b = 0; b < branches; ++b) {
        wrong += choice.bits[b] != problem.best[b] ? 1 : 0;
        row.bias += (problem.bits[choice.bits[b]] - problem.bits[problem.best[b]]) / seeds;
      }
      row.wrong.push_back(wrong);
      row.excess.push_back(problem.objective(choice.bits) / problem.objective(problem.best) - 1);
      row.entropy += choice.entropy / seeds;
    }
  }
  return rows;
}

std::string str(const std::vector<PlantedRow>& rows, const PlantedOptions& options) {
  using Align = Table::Align;
  Table table({{"mode", "", Align::left},
               {"bits in weight steps", "", Align::left},
               {"in choice steps", "", Align::left},
               {"slope", "", Align::left},
               {"rate", ""},
               {"wrong", "of 9"},
               {"bias", "bits"},
               {"excess", "%"},
               {"worst", "%"},
               {"entropy", "nats"}});
  for (const PlantedRow& row : rows) {
    const SamplingMode& m = row.mode;
    table.row({m.name, sampling_text(m.weight_bits, m.weight_temperature),
               sampling_text(m.choice_bits, m.choice_temperature), slope_text(m), fmt::format("{:g}", m.rate),
               fmt::format("{:.2f}", mean(row.wrong)), fmt::format("{:+.1f}", row.bias),
               fmt::format("{:.1f}", 100 * mean(row.excess)),
               fmt::format("{:.1f}", 100 * *std::max_element(row.excess.begin(), row.excess.end())),
               fmt::format("{:.2f}", row.entropy)});
  }
  return fmt::format(
      "{} problems of 9 branches with planted bits of {{2, 4, 8}}, {} weight steps of warm-up, {} choice steps, "
      "batches "
      "of {}\nexcess: objective above that of the planted bits\n{}",
      options.seeds, options.warmup_steps, options.choice_steps, options.batch, table.str());
}

}  // namespace kasimir
