// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"
#include "kasimir/strategy_breed.h"

#include "kasimir/train/gaussian_process.h"

#include <algorithm>

namespace kasimir {
namespace {

// Judgements.
/// Candidates among which the most promising is taken, and the share of them that is bred from what was trained.
constexpr int candidates = 48;
constexpr double share_bred = 0.5;
/// The newest trials that the regression knows: cubic in their number.
constexpr std::size_t most_rows = 600;

/// A number for each candidate of an attempt, away from those that other strategies use.
std::uint64_t number_of(std::uint64_t attempt, int candidate) {
  return (std::uint64_t{1} << 62U) + attempt * candidates + static_cast<std::uint64_t>(candidate);
}

struct Model {
  GaussianProcess process;
  std::vector<study::Point> points;
  study::Point reference;
};

/// Nothing where too few trials have features.
std::optional<Model> model_of(const Task& task) {
  std::vector<Parent> newest = task.history.parents;
  std::ranges::sort(newest, std::ranges::greater{}, &Parent::trial);
  std::vector<std::vector<double>> rows;
  std::vector<double> accuracies;
  for (const Parent& parent : newest) {
    const auto& features = task.source.features(parent.trial);
    if (!features || rows.size() == most_rows) continue;
    rows.push_back(*features);
    accuracies.push_back(parent.point.accuracy);
  }
  if (rows.size() < first_generation / 2) return std::nullopt;
  std::vector<study::Point> points;
  for (const Parent& parent : newest) points.push_back(parent.point);
  study::Point reference = task.history.original ? front_reference(*task.history.original) : points.front();
  // Where nothing comes near the original yet, the better half is what to beat.
  reference.accuracy = std::min(reference.accuracy, task.history.parents[newest.size() / 2].point.accuracy);
  for (const study::Point& point : points) {
    reference.macs = std::max(reference.macs, point.macs);
    reference.params = std::max(reference.params, point.params);
  }
  return Model{GaussianProcess(rows, accuracies), std::move(points), reference};
}

std::vector<Idea> ideas_for(const Task& task) {
  std::vector<Idea> ideas;
  for (int i = 0; i < candidates; ++i) {
    const std::uint64_t number = number_of(task.attempt, i);
    Rng rng(mix_bits(task.seed), number);
    auto idea = Outcome<Idea>(Rejection{});
    if (!rng.chance(share_bred)) {
      idea = task.source.drawn(number);
    } else {
      const int first = accurate_parent(task.history, rng, std::nullopt);
      idea = rng.chance(0.5) ? task.source.mutated(first, number)
                             : task.source.crossed(first, accurate_parent(task.history, rng, first), number);
    }
    if (idea.ok()) ideas.push_back(*std::move(idea));
  }
  return ideas;
}

Outcome<Idea> propose(const Task& task) {
  if (task.history.parents.size() < first_generation) return random_strategy.propose(task);
  const auto model = model_of(task);
  if (!model) return random_strategy.propose(task);
  std::vector<Idea> ideas;
  std::vector<std::vector<double>> rows;
  for (Idea& idea : ideas_for(task)) {
    auto features = task.source.features(idea);
    if (!features) continue;
    rows.push_back(*std::move(features));
    ideas.push_back(std::move(idea));
  }
  if (ideas.empty()) return random_strategy.propose(task);
  const std::vector<Expected> expected = model->process.predict(rows);
  std::vector<double> gains;
  for (std::size_t i = 0; i < ideas.size(); ++i) {
    const study::Point counts = task.source.counts(ideas[i]);
    gains.push_back(study::expected_gain(model->points, model->reference, counts.macs, counts.params,
                                         {expected[i].mean, expected[i].deviation}));
  }
  const auto best = static_cast<std::size_t>(std::ranges::max_element(gains) - gains.begin());
  Idea& chosen = ideas[best];
  chosen.origin["strategy"] = "surrogate";
  chosen.origin["expected"] = {expected[best].mean, expected[best].deviation};
  chosen.origin["gain"] = gains[best];
  return std::move(chosen);
}

}  // namespace

const Strategy surrogate_strategy{"surrogate",
                                  "of many candidates the one whose accuracy, as a Gaussian process expects it, widens "
                                  "the front of accuracy, MACs and parameters most",
                                  true, propose};

}  // namespace kasimir
