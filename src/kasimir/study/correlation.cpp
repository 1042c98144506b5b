// SPDX-License-Identifier: Apache-2.0
#include "kasimir/study/correlation.h"

#include "kasimir/base/error.h"
#include "kasimir/study/scores.h"

#include <algorithm>
#include <limits>

namespace kasimir::study {
namespace {

/// One early measurement of one candidate.
struct Early {
  double value = 0;
  std::optional<double> seconds = {};
};

std::vector<RungResult> candidates_on(const Store& store, Rung rung) {
  std::vector<RungResult> results = store.results(rung);
  std::erase_if(results, [](const RungResult& result) { return result.trial == 0; });
  return results;
}

/// The rung to compare with, and the candidates' accuracies there.
std::pair<Rung, std::vector<RungResult>> last_rung(const Store& store, const CorrelationOptions& options) {
  std::string found;
  for (const Rung rung : {Rung::full, Rung::longer, Rung::quick}) {
    if (options.with && *options.with != rung) continue;
    std::vector<RungResult> results = candidates_on(store, rung);
    if (static_cast<int>(results.size()) >= options.least) return {rung, std::move(results)};
    found += fmt::format("{}{} on rung {}", found.empty() ? "" : ", ", results.size(), name_of(rung));
  }
  throw input_error("study {}: too few candidates have a result to rank them by: {}, needed are {}",
                    store.place().str(), found, options.least)
      .note("search with --promote 1, or with as many --finalists");
}

class Table {
 public:
  Table(const Store& store, const CorrelationOptions& options, const std::vector<RungResult>& last)
      : store_(store), options_(options), last_(last) {}

  std::vector<CorrelationRow> rows(Rung with) {
    for (const RungResult& result : last_) look_at(result, with);
    std::vector<CorrelationRow> rows;
    for (const std::string& name : names_)
      if (static_cast<int>(early_.at(name).size()) >= options_.least) rows.push_back(row(name));
    return rows;
  }

 private:
  void look_at(const RungResult& result, Rung with) {
    const std::vector<Job> jobs = store_.jobs_of(result.trial);
    for (const Job& job : jobs)
      if (job.rung == Rung::quick) add_scores_of(job);
    add("MACs", result.trial, {static_cast<double>(result.network.macs)});
    add("parameters", result.trial, {static_cast<double>(result.network.params)});
    const std::vector<Curve> curves = store_.curves(result.trial);
    for (const Rung rung : {Rung::quick, Rung::longer, Rung::full}) {
      if (rung > with) break;
      add_epochs(result.trial, rung, curves);
      if (rung < with) add_rung(result.trial, rung, jobs);
    }
  }

  void add_scores_of(const Job& job) {
    for (const ScoreRow& score : scores_in(job.result))
      add("score " + score.name, job.trial,
          {score.value.value_or(-std::numeric_limits<double>::infinity()), score.seconds});
  }

  void add_rung(int trial, Rung rung, const std::vector<Job>& jobs) {
    std::vector<double> accuracies;
    double seconds = 0;
    for (const Job& job : jobs) {
      if (job.rung != rung || job.state != JobState::done || !job.accuracy) continue;
      accuracies.push_back(*job.accuracy);
      seconds += job.finished - job.started;
    }
    if (!accuracies.empty()) add(fmt::format("rung {}", name_of(rung)), trial, {mean(accuracies), seconds});
  }

  /// All but the last epoch, which is the rung itself.
  void add_epochs(int trial, Rung rung, const std::vector<Curve>& curves) {
    std::map<int, std::vector<double>> accuracies;
    std::map<int, double> seconds;
    for (const Curve& curve : curves) {
      if (curve.rung != rung) continue;
      double spent = 0;
      for (const CurveRow& row : curve.rows) {
        accuracies[row.epoch].push_back(row.validation_accuracy);
        seconds[row.epoch] += spent += row.seconds;
      }
    }
    for (const auto& [epoch, values] : accuracies)
      if (epoch < accuracies.rbegin()->first)
        add(fmt::format("rung {}, epoch {}", name_of(rung), epoch), trial, {mean(values), seconds[epoch]});
  }

  void add(const std::string& name, int trial, const Early& early) {
    if (!early_.contains(name)) names_.push_back(name);
    early_[name][trial] = early;
  }

  CorrelationRow row(const std::string& name) const {
    std::vector<double> values;
    std::vector<double> accuracies;
    std::vector<double> seconds;
    for (const RungResult& result : last_) {
      const auto found = early_.at(name).find(result.trial);
      if (found == early_.at(name).end()) continue;
      values.push_back(found->second.value);
      accuracies.push_back(result.accuracy);
      if (found->second.seconds) seconds.push_back(*found->second.seconds);
    }
    CorrelationRow row{name, static_cast<int>(values.size()), kendall_tau(values, accuracies), {}, {}};
    row.interval = kendall_interval(values, accuracies, options_.confidence, options_.repeats, options_.seed);
    if (!seconds.empty()) row.seconds = mean(seconds);
    return row;
  }

  const Store& store_;
  const CorrelationOptions& options_;
  const std::vector<RungResult>& last_;
  std::vector<std::string> names_;
  std::map<std::string, std::map<int, Early>> early_;
};

}  // namespace

Correlations correlations(const Store& store, const CorrelationOptions& options) {
  Correlations all;
  store.snapshot([&] {
    const auto [with, last] = last_rung(store, options);
    all.with = with;
    all.trials = static_cast<int>(last.size());
    all.rows = Table(store, options, last).rows(with);
  });
  return all;
}

}  // namespace kasimir::study
