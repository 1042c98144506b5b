// SPDX-License-Identifier: Apache-2.0
#include "kasimir/base/text.h"
#include "kasimir/study/forecast.h"
#include "kasimir/study/ladder.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace kasimir::study {
namespace {

double cost_of(const LadderConfig& config, Rung rung) { return config.rung_cost.at(static_cast<std::size_t>(rung)); }

/// Predicted seconds of the candidates that are still to be asked for.
double asking_seconds(const LadderConfig& config, int candidates, double active, double later, double unit) {
  const double by_trials =
      std::max(0, config.trials - candidates) * cost_of(config, Rung::quick) * unit / config.workers;
  const double by_time =
      std::max({0.0, config.time_limit_s - active - later, config.explore_min * config.time_limit_s - active});
  if (config.trials == 0) return by_time;
  return config.time_limit_s == 0 ? by_trials : std::min(by_trials, by_time);
}

std::optional<double> seconds_left(const Store& store, const LadderConfig& config, const Progress& p) {
  if (p.phase >= rung_count) return 0.0;
  const auto unit = seconds_per_cost(store, config);
  if (!unit) return std::nullopt;
  double open = 0;
  for (const auto& [rung, jobs] : p.jobs) {
    const double waiting = jobs.queued + 0.5 * jobs.leased;  // those at work are half done on average
    open += waiting * (rung == Rung::latency ? config.latency_s : cost_of(config, rung) * *unit / config.workers);
  }
  const int candidates = std::max(0, store.numbers().candidates());
  const int expected = std::max(candidates, p.phase == 0 ? config.trials : 0);
  if (p.phase >= static_cast<int>(Rung::full)) {
    const bool before_latency = p.phase == static_cast<int>(Rung::full);
    return open + (before_latency ? config.finalists * config.latency_s : 0);
  }
  const double last = finalist_seconds(config, expected, *unit);
  if (p.phase == static_cast<int>(Rung::longer)) return open + last;
  const double later = longer_seconds(config, expected, *unit) + last;
  return open + later + asking_seconds(config, candidates, p.active_seconds, later, *unit);
}

}  // namespace

std::optional<double> seconds_per_cost(const Store& store, const LadderConfig& config) {
  double seconds = 0;
  double cost = 0;
  for (const auto& [rung, taken] : store.recent_seconds(200)) {
    if (rung == Rung::latency) continue;
    seconds += taken;
    cost += cost_of(config, rung);
  }
  return cost > 0 ? std::optional(seconds / cost) : std::nullopt;
}

double longer_seconds(const LadderConfig& config, int candidates, double unit) {
  if (config.promote == 0) return 0;
  const int least = std::min(config.finalists, candidates);
  const double promoted = std::max(std::ceil(config.promote * candidates), static_cast<double>(least));
  return (promoted + 1) * cost_of(config, Rung::longer) * unit / config.workers;
}

double finalist_seconds(const LadderConfig& config, int candidates, double unit) {
  const int finalists = std::min(config.finalists, candidates);
  return (finalists + 1) * config.finalist_seeds * cost_of(config, Rung::full) * unit / config.workers +
         finalists * config.latency_s;
}

Progress progress(const Store& store) {
  Progress p;
  store.snapshot([&] {
    const StudyInfo info = store.info();
    p.phase = info.phase;
    p.active_seconds = info.active_seconds;
    p.trials = store.trial_counts();
    p.jobs = store.job_counts();
    for (const Rung rung : {Rung::full, Rung::longer, Rung::quick}) {
      for (const RungResult& result : store.results(rung)) {
        if (result.trial == 0) {
          if (!p.original_accuracy) p.original_accuracy = result.accuracy;
        } else if (!p.best || (p.best_rung == rung && result.accuracy > p.best->accuracy)) {
          p.best = result;
          p.best_rung = rung;
        }
      }
    }
    p.seconds_left = seconds_left(store, LadderConfig::from_json(info.spec.at("ladder")), p);
  });
  return p;
}

std::string phase_text(int phase) {
  return phase >= rung_count ? "finished" : fmt::format("rung {}", name_of(static_cast<Rung>(phase)));
}

std::string str(const Progress& progress) {
  const auto count = [&](TrialState state) {
    const auto found = progress.trials.find(state);
    return found == progress.trials.end() ? 0 : found->second;
  };
  const int evaluated = count(TrialState::running) + count(TrialState::stopped) + count(TrialState::complete);
  return fmt::format("{} candidates evaluated or in training, {} screened out, {} failed{}", evaluated,
                     count(TrialState::rejected), count(TrialState::failed),
                     progress.seconds_left && progress.phase < rung_count
                         ? "; about " + duration_text(*progress.seconds_left) + " left"
                         : "");
}

}  // namespace kasimir::study
