// SPDX-License-Identifier: Apache-2.0
#include "kasimir/sampler_source.h"

#include "kasimir/synth/features.h"
#include "kasimir/synth/moves.h"

#include <algorithm>
#include <cmath>

namespace kasimir {
namespace {

/// The steps as text; before the first, the values of `given`: another value is another beginning.
std::vector<std::string> step_texts(const Kernel& kernel) {
  std::vector<std::string> texts;
  for (const Step& step : kernel.steps) texts.push_back(str(step));
  if (texts.empty()) return texts;
  const std::string whole = str(kernel);
  const std::size_t given = whole.find("\ngiven ");
  if (given != std::string::npos) texts[0] = whole.substr(given + 1, whole.find('\n', given + 1) - given) + texts[0];
  return texts;
}

}  // namespace

HostCosts::HostCosts(const Network& network, const std::vector<SiteRef>& sites) : total(network.cost()) {
  for (const SiteRef& site : sites) replaced += site.cost;
}

study::Counts HostCosts::with(const study::Counts& kernels) const {
  return {total.macs - replaced.macs + kernels.macs, total.params - replaced.params + kernels.params};
}

study::Counts counts_of(const Sampled& sampled) {
  return {std::llround(sampled.cost.total_macs), std::llround(sampled.cost.total_params)};
}

Scores in_order(const std::vector<study::ScoreRow>& scores, const std::vector<std::string>& names) {
  Scores ordered;
  for (const std::string& name : names) {
    const auto found = std::ranges::find(scores, name, &study::ScoreRow::name);
    ordered.push_back(found == scores.end() ? std::nullopt : found->value);
  }
  return ordered;
}

const TrainedKernels::Facts& TrainedKernels::of(int trial, const StudyFacts& study) {
  const auto found = facts_.find(trial);
  if (found != facts_.end()) return found->second;
  Kernel kernel = parse_kernel(study.text(trial), catalog_, fmt::format("trial {}", trial));
  std::vector<std::string> steps = step_texts(kernel);
  std::optional<std::vector<double>> row = features(kernel);
  return facts_.emplace(trial, Facts{std::move(kernel), std::move(steps), std::move(row), study.scores(trial)})
      .first->second;
}

std::optional<std::vector<double>> TrainedKernels::features(const Kernel& kernel) const {
  const auto row = kernel_features(kernel, catalog_, site_);
  return row.ok() ? std::optional(*row) : std::nullopt;
}

Outcome<Idea> SamplerSource::drawn(std::uint64_t attempt) {
  auto sampled = sampler_->attempt(attempt, *memory_);
  if (!sampled.ok()) return sampled.rejection();
  return Idea{*std::move(sampled), {{"strategy", "random"}, {"seed", sampler_->seed()}, {"attempt", attempt}}};
}

/// What the memory holds after a move.
Outcome<Idea> SamplerSource::bred(std::uint64_t attempt, const char* move, const std::vector<int>& parents) const {
  auto sampled = sampler_->describe(attempt, *memory_);
  if (!sampled.ok()) return sampled.rejection();
  return Idea{*std::move(sampled), {{"move", move}, {"parents", parents}, {"attempt", attempt}}};
}

Outcome<Idea> SamplerSource::mutated(int trial, std::uint64_t attempt) {
  const auto made = mutate(*sampler_, kernel(trial), attempt, *memory_);
  if (!made.ok()) return made.rejection();
  return bred(attempt, mutation_name(*made).data(), {trial});
}

Outcome<Idea> SamplerSource::crossed(int first, int second, std::uint64_t attempt) {
  if (auto failed = cross(*sampler_, kernel(first), kernel(second), attempt, *memory_)) return *failed;
  return bred(attempt, "crossing", {first, second});
}

Outcome<Idea> SamplerSource::regrown(int trial, int kept, std::uint64_t attempt) {
  if (auto failed = regrow(*sampler_, kernel(trial), kept, attempt, *memory_)) return *failed;
  auto idea = bred(attempt, "regrown", {trial});
  if (idea.ok()) idea->origin["kept"] = kept;
  return idea;
}

study::Point SamplerSource::counts(const Idea& idea) {
  return point_of(0, trained_->host().with(counts_of(idea.sampled)));
}

}  // namespace kasimir
