// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/summary.h"

#include "kasimir/base/statistics.h"

#include <algorithm>
#include <cmath>
#include <map>

namespace kasimir::study {
namespace {

std::optional<Measured> over_seeds(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return Measured{mean(values), standard_deviation(values), static_cast<int>(values.size())};
}

/// The value below which a share `q` of the sorted values lies, interpolated.
double quantile(const std::vector<double>& sorted, double q) {
  const double at = q * static_cast<double>(sorted.size() - 1);
  const auto low = static_cast<std::size_t>(at);
  const std::size_t high = std::min(low + 1, sorted.size() - 1);
  return sorted[low] + (at - static_cast<double>(low)) * (sorted[high] - sorted[low]);
}

std::optional<Measured> over_samples(std::vector<double> values) {
  if (values.empty()) return std::nullopt;
  std::sort(values.begin(), values.end());
  return Measured{quantile(values, 0.5), quantile(values, 0.75) - quantile(values, 0.25),
                  static_cast<int>(values.size())};
}

void add_accuracies(TrialSummary& summary, const std::vector<Job>& jobs) {
  std::vector<double> accuracies;
  std::vector<double> test;
  for (const Job& job : jobs) {
    if (job.rung == Rung::quick) summary.scores = scores_in(job.result);
    if (job.state == JobState::done || job.state == JobState::failed) summary.seconds += job.finished - job.started;
    if (job.state != JobState::done || !job.accuracy) continue;
    if (!summary.rung || *summary.rung < job.rung) {
      summary.rung = job.rung;
      accuracies.clear();
    }
    accuracies.push_back(*job.accuracy);
    if (job.test_accuracy) test.push_back(*job.test_accuracy);
  }
  summary.accuracy = over_seeds(accuracies);
  summary.test_accuracy = over_seeds(test);
}

/// The samples of the setting with the smallest batch, then the fewest threads.
void add_latency(TrialSummary& summary, const std::vector<LatencySample>& samples) {
  std::vector<double> kernel;
  std::vector<double> original;
  std::vector<double> ratio;
  for (const LatencySample& s : samples) {
    if (s.batch != samples.front().batch || s.threads != samples.front().threads) break;
    kernel.push_back(s.kernel_ms);
    original.push_back(s.original_ms);
    if (s.original_ms > 0) ratio.push_back(s.kernel_ms / s.original_ms);
    summary.threads = s.threads;
    summary.batch = s.batch;
  }
  summary.latency_ms = over_samples(std::move(kernel));
  summary.original_ms = over_samples(std::move(original));
  summary.latency_ratio = over_samples(std::move(ratio));
}

}  // namespace

std::vector<TrialSummary> summaries(const Store& store) {
  std::vector<TrialSummary> all;
  store.snapshot([&] {
    for (Trial& trial : store.trials()) {
      TrialSummary s;
      s.number = trial.number;
      s.state = trial.state;
      s.kernel = std::move(trial.kernel);
      s.hash = std::move(trial.hash);
      s.replaced = trial.replaced;
      s.network = trial.network;
      s.rule = std::move(trial.rule);
      s.reason = std::move(trial.reason);
      all.push_back(std::move(s));
    }
    std::map<int, std::vector<Job>> jobs;
    std::map<int, std::vector<LatencySample>> samples;
    for (Job& job : store.jobs()) jobs[job.trial].push_back(std::move(job));
    for (auto& [trial, sample] : store.latency_samples()) samples[trial].push_back(sample);
    std::vector<LatencySample> of_original;
    for (TrialSummary& s : all) {
      add_accuracies(s, jobs[s.number]);
      if (const auto found = samples.find(s.number); found != samples.end()) {
        add_latency(s, found->second);
        for (LatencySample sample : found->second) {
          sample.kernel_ms = sample.original_ms;
          of_original.push_back(sample);
        }
      }
    }
    std::stable_sort(of_original.begin(), of_original.end(), [](const LatencySample& a, const LatencySample& b) {
      return std::pair(a.batch, a.threads) < std::pair(b.batch, b.threads);
    });
    if (!all.empty() && !of_original.empty()) add_latency(all.front(), of_original);
  });
  return all;
}

bool has_accelerator(const std::vector<TrialSummary>& summaries) {
  return !summaries.empty() && summaries.front().network.accelerator.has_value();
}

std::vector<std::string> score_names(const std::vector<TrialSummary>& summaries) {
  std::vector<std::string> names;
  for (const TrialSummary& summary : summaries)
    for (const ScoreRow& score : summary.scores)
      if (std::ranges::find(names, score.name) == names.end()) names.push_back(score.name);
  return names;
}

const ScoreRow* score_of(const TrialSummary& summary, const std::string& name) {
  const auto found = std::ranges::find(summary.scores, name, &ScoreRow::name);
  return found == summary.scores.end() ? nullptr : &*found;
}

std::string_view name_of(Measure measure) {
  switch (measure) {
    case Measure::latency:
      return "latency";
    case Measure::macs:
      return "macs";
    case Measure::params:
      return "params";
    case Measure::accelerator:
      return "accelerator";
  }
  return "";
}

std::optional<double> value_of(const TrialSummary& summary, Measure measure) {
  if (measure == Measure::latency) {
    return summary.latency_ms ? std::optional(summary.latency_ms->value) : std::nullopt;
  }
  if (measure == Measure::accelerator) {
    const auto& cost = summary.network.accelerator;
    return cost ? std::optional(cost->value) : std::nullopt;
  }
  const bool known = summary.state != TrialState::proposed;
  const std::int64_t value = measure == Measure::macs ? summary.network.macs : summary.network.params;
  return known ? std::optional(static_cast<double>(value)) : std::nullopt;
}

std::vector<std::size_t> pareto_front(const std::vector<TrialSummary>& summaries, Measure measure) {
  std::optional<Rung> highest;
  for (const TrialSummary& s : summaries) {
    if (s.number > 0 && s.rung && (!highest || *highest < *s.rung)) highest = s.rung;
  }
  std::vector<std::size_t> order;
  for (std::size_t i = 0; i < summaries.size(); ++i) {
    const TrialSummary& s = summaries[i];
    const bool compared = s.accuracy && value_of(s, measure) && (s.number == 0 || s.rung == highest);
    if (compared && s.state != TrialState::failed && s.state != TrialState::rejected) order.push_back(i);
  }
  const auto key = [&](std::size_t i) {
    return std::pair(*value_of(summaries[i], measure), -summaries[i].accuracy->value);
  };
  std::stable_sort(order.begin(), order.end(), [&](std::size_t a, std::size_t b) { return key(a) < key(b); });
  std::vector<std::size_t> front;
  for (const std::size_t i : order) {
    if (front.empty() || summaries[i].accuracy->value > summaries[front.back()].accuracy->value) front.push_back(i);
  }
  return front;
}

std::vector<Miss> nearest_misses(const std::vector<TrialSummary>& summaries, const Goal& goal, std::size_t count) {
  if (summaries.empty() || !summaries.front().accuracy) return {};
  const auto original = value_of(summaries.front(), goal.measure);
  if (!original || *original <= 0) return {};
  const double wanted = summaries.front().accuracy->value - goal.accuracy_drop;
  std::vector<Miss> misses;
  for (std::size_t i = 1; i < summaries.size(); ++i) {
    const auto value = value_of(summaries[i], goal.measure);
    if (!value || !summaries[i].accuracy) continue;
    misses.push_back(
        {i, std::max(0.0, wanted - summaries[i].accuracy->value), std::max(0.0, *value / *original - goal.ratio)});
  }
  const auto distance = [&](const Miss& m) {
    return m.accuracy_short / std::max(goal.accuracy_drop, 0.01) + m.ratio_over / std::max(goal.ratio, 0.01);
  };
  std::stable_sort(misses.begin(), misses.end(), [&](const Miss& a, const Miss& b) {
    if (distance(a) != distance(b)) return distance(a) < distance(b);
    return summaries[a.index].accuracy->value > summaries[b.index].accuracy->value;
  });
  misses.resize(std::min(misses.size(), count));
  return misses;
}

}  // namespace kasimir::study
