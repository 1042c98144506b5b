// SPDX-License-Identifier: Apache-2.0
#include "kasimir/strategies.h"
#include "kasimir/strategy_breed.h"

#include "kasimir/train/gaussian_process.h"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numeric>

namespace kasimir {
namespace {

// Judgements.
/// Kernels that are drawn at random: fewer than other strategies take, since a regression knows how little it knows.
constexpr std::size_t drawn_first = 8;
/// Candidates among which the most promising is taken, and the share of them that is bred from what was trained.
constexpr int candidates = 48;
constexpr double share_bred = 0.5;
/// Of them, by features alone, the ones that scores are computed of, where the study asks for scores: each takes a
/// share of a second.
constexpr std::size_t most_scored = 16;
/// The newest trials that the regression knows: cubic in their number.
constexpr std::size_t most_rows = 600;

/// A number for each candidate of an attempt, away from those that other strategies use.
std::uint64_t number_of(std::uint64_t attempt, int candidate) {
  return (std::uint64_t{1} << 62U) + attempt * candidates + static_cast<std::uint64_t>(candidate);
}

/// What the regression is told: rows of features, behind them the scores if there are any.
struct Rows {
  std::vector<std::vector<double>> features;
  std::vector<Scores> scores;
};

/// Scores range over many powers of ten; one that has no value counts as the worst.
std::vector<std::vector<double>> with_scores(const Rows& rows, const std::vector<double>& worst) {
  std::vector<std::vector<double>> all = rows.features;
  for (std::size_t i = 0; i < all.size(); ++i)
    for (std::size_t k = 0; k < worst.size(); ++k) {
      const double value = rows.scores[i][k].value_or(worst[k]);
      all[i].push_back(std::copysign(std::log1p(std::abs(value)), value));
    }
  return all;
}

class Model {
 public:
  /// Nothing where too few trials have features.
  static std::optional<Model> of(const Task& task) {
    Model model;
    std::vector<Parent> newest = task.history.parents;
    std::ranges::sort(newest, std::ranges::greater{}, &Parent::trial);
    for (const Parent& parent : newest) {
      const auto& features = task.source.features(parent.trial);
      if (!features || model.known_.features.size() == most_rows) continue;
      model.known_.features.push_back(*features);
      model.known_.scores.push_back(task.source.scores(parent.trial));
      model.accuracies_.push_back(parent.point.accuracy);
    }
    if (model.accuracies_.size() < drawn_first / 2) return std::nullopt;
    for (const Parent& parent : newest) model.points_.push_back(parent.point);
    study::Point& reference = model.reference_;
    reference = task.history.original ? front_reference(*task.history.original) : model.points_.front();
    // Where nothing comes near the original yet, the better half is what to beat.
    reference.accuracy = std::min(reference.accuracy, task.history.parents[newest.size() / 2].point.accuracy);
    for (const study::Point& point : model.points_) {
      reference.macs = std::max(reference.macs, point.macs);
      reference.params = std::max(reference.params, point.params);
    }
    return model;
  }

  [[nodiscard]] bool has_scores() const { return !known_.scores.front().empty(); }

  struct Promise {
    Expected accuracy;
    double gain = 0;  ///< of hypervolume
  };
  /// By features alone, or by scores too.
  [[nodiscard]] std::vector<Promise> promises(const Rows& rows, const std::vector<study::Point>& counts,
                                              bool by_scores) const {
    std::vector<double> worst;
    std::vector<int> groups{static_cast<int>(known_.features.front().size())};
    if (by_scores) {
      groups.push_back(static_cast<int>(known_.scores.front().size()));
      for (std::size_t k = 0; k < known_.scores.front().size(); ++k) {
        double least = std::numeric_limits<double>::infinity();
        for (const Scores& scores : known_.scores) least = std::min(least, scores[k].value_or(least));
        worst.push_back(std::isfinite(least) ? least : 0);
      }
    }
    const GaussianProcess process(with_scores(known_, worst), accuracies_, groups);
    const std::vector<Expected> expected = process.predict(with_scores(rows, worst));
    std::vector<Promise> all;
    for (std::size_t i = 0; i < expected.size(); ++i)
      all.push_back({expected[i], study::expected_gain(points_, reference_, counts[i].macs, counts[i].params,
                                                       {expected[i].mean, expected[i].deviation})});
    return all;
  }

 private:
  Rows known_;
  std::vector<double> accuracies_;
  std::vector<study::Point> points_;
  study::Point reference_;
};

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

/// Candidates with what is known of each.
struct Field {
  std::vector<Idea> ideas;
  Rows rows;
  std::vector<study::Point> counts;

  void keep(std::vector<std::size_t> chosen) {
    Field kept;
    for (const std::size_t i : chosen) {
      kept.ideas.push_back(std::move(ideas[i]));
      kept.rows.features.push_back(std::move(rows.features[i]));
      kept.counts.push_back(counts[i]);
    }
    *this = std::move(kept);
  }
};

Field field_for(const Task& task) {
  Field field;
  for (Idea& idea : ideas_for(task)) {
    auto features = task.source.features(idea);
    if (!features) continue;
    field.rows.features.push_back(*std::move(features));
    field.counts.push_back(task.source.counts(idea));
    field.ideas.push_back(std::move(idea));
  }
  return field;
}

Outcome<Idea> propose(const Task& task) {
  if (task.history.parents.size() < drawn_first) return random_strategy.propose(task);
  const auto model = Model::of(task);
  if (!model) return random_strategy.propose(task);
  Field field = field_for(task);
  if (field.ideas.empty()) return random_strategy.propose(task);
  std::vector<Model::Promise> promises = model->promises(field.rows, field.counts, false);
  const auto gain = [&](std::size_t i) { return promises[i].gain; };
  std::vector<std::size_t> order(field.ideas.size());
  std::iota(order.begin(), order.end(), 0);
  std::ranges::stable_sort(order, std::ranges::greater{}, gain);
  if (model->has_scores()) {
    order.resize(std::min(order.size(), most_scored));
    field.keep(order);
    for (const Idea& idea : field.ideas) field.rows.scores.push_back(task.source.scores(idea));
    promises = model->promises(field.rows, field.counts, true);
    order.resize(field.ideas.size());
    std::iota(order.begin(), order.end(), 0);
    std::ranges::stable_sort(order, std::ranges::greater{}, gain);
  }
  const std::size_t best = order.front();
  Idea& chosen = field.ideas[best];
  chosen.origin["strategy"] = "surrogate";
  chosen.origin["expected"] = {promises[best].accuracy.mean, promises[best].accuracy.deviation};
  chosen.origin["gain"] = promises[best].gain;
  return std::move(chosen);
}

}  // namespace

const Strategy surrogate_strategy{"surrogate",
                                  "of many candidates the one whose accuracy, as a Gaussian process expects it, widens "
                                  "the front of accuracy, MACs and parameters most",
                                  true, propose};

}  // namespace kasimir
