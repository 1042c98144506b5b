// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/stopping.h"

#include "kasimir/study/ladder.h"

#include <boost/math/distributions/students_t.hpp>

#include <algorithm>
#include <cmath>

namespace kasimir::study {

double LatePrediction::chance_above(double bar) const {
  if (scale <= 0) return expected > bar ? 1 : 0;
  const boost::math::students_t_distribution<double> student(freedom);
  return boost::math::cdf(boost::math::complement(student, (bar - expected) / scale));
}

std::optional<LatePrediction> predict_late(const std::vector<RungPair>& pairs, double early) {
  if (pairs.size() < 3) return std::nullopt;
  const auto n = static_cast<double>(pairs.size());
  double x = 0;
  double y = 0;
  for (const RungPair& pair : pairs) {
    x += pair.early / n;
    y += pair.late / n;
  }
  double xx = 0;
  double xy = 0;
  for (const RungPair& pair : pairs) {
    xx += (pair.early - x) * (pair.early - x);
    xy += (pair.early - x) * (pair.late - y);
  }
  const double slope = xx > 0 ? xy / xx : 0;
  double squares = 0;
  for (const RungPair& pair : pairs) {
    const double residual = pair.late - y - slope * (pair.early - x);
    squares += residual * residual;
  }
  LatePrediction prediction;
  prediction.freedom = static_cast<int>(pairs.size()) - 2;
  prediction.expected = y + slope * (early - x);
  const double leverage = 1 + 1 / n + (xx > 0 ? (early - x) * (early - x) / xx : 0);
  prediction.scale = std::sqrt(squares / prediction.freedom * leverage);
  return prediction;
}

namespace {

/// No more of what `rank` compares beside accuracy; latency is not known of a candidate in training.
bool costs_no_more(const Counts& a, const Counts& b) {
  const bool placed = a.accelerator && b.accelerator;
  return a.params <= b.params && (placed ? a.accelerator->value <= b.accelerator->value : a.macs <= b.macs);
}

}  // namespace

std::optional<double> bar_to_beat(const std::vector<RungResult>& results, const Counts& network, int finalists) {
  const auto count = static_cast<std::size_t>(finalists);
  if (results.size() < count) return std::nullopt;
  std::optional<double> front;
  std::vector<double> accuracies;
  for (const RungResult& result : results) {
    accuracies.push_back(result.accuracy);
    if (costs_no_more(result.network, network)) front = std::max(front.value_or(0), result.accuracy);
  }
  if (!front) return std::nullopt;
  // More accuracy never ranks it lower: the first of the sorted ones above which it is a finalist.
  constexpr int newcomer = -1;
  std::ranges::sort(accuracies);
  const auto chosen_above = [&](double accuracy) {
    std::vector<RungResult> with = results;
    with.push_back({newcomer, std::nextafter(accuracy, 2.0), network, {}});
    const std::vector<int> chosen = rank(with, count);
    return std::ranges::find(chosen, newcomer) != chosen.end();
  };
  const auto bar = std::ranges::partition_point(accuracies, [&](double accuracy) { return !chosen_above(accuracy); });
  return bar == accuracies.end() ? *front : std::min(*front, *bar);
}

std::optional<LatePrediction> hopeless(const std::vector<RungPair>& pairs, double early, double bar,
                                       const StopRule& rule) {
  if (rule.below <= 0 || static_cast<int>(pairs.size()) < rule.least) return std::nullopt;
  const auto prediction = predict_late(pairs, early);
  if (!prediction || prediction->chance_above(bar) >= rule.below) return std::nullopt;
  return prediction;
}

}  // namespace kasimir::study
