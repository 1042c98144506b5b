// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/scores.h"
#include "kasimir/study/store.h"

#include <optional>
#include <string>
#include <vector>

namespace kasimir::study {

/// A value measured several times.
struct Measured {
  double value = 0;   ///< accuracies: the mean over seeds; latencies and ratios: the median over samples
  double spread = 0;  ///< accuracies: sample standard deviation (0 for one seed); latencies: interquartile range
  int count = 0;
};

/// All that a table shows of a trial.
struct TrialSummary {
  int number = 0;
  TrialState state = TrialState::proposed;
  std::string kernel;
  std::string hash;
  std::optional<Rung> rung;               ///< the highest training rung with a finished job
  std::optional<Measured> accuracy;       ///< validation split, on `rung`
  std::optional<Measured> test_accuracy;  ///< test split, on rung `full`
  std::optional<Measured> latency_ms;     ///< trial 0: the original, over all samples taken beside kernels
  std::optional<Measured> original_ms;    ///< the original's, sampled beside this kernel
  std::optional<Measured> latency_ratio;  ///< kernel over original, sample by sample; below 1 is faster
  int threads = 0;                        ///< of the latency samples: those with the smallest batch, then threads
  int batch = 0;
  Counts replaced;
  Counts network;
  double seconds = 0;            ///< spent on all its finished jobs
  std::vector<ScoreRow> scores;  ///< before any training
  std::string rule;
  std::string reason;
};

/// By number; trial 0 is the original.
std::vector<TrialSummary> summaries(const Store& store);

/// Whether the study is for an accelerator: then the original has a cost on it.
bool has_accelerator(const std::vector<TrialSummary>& summaries);

/// Names of the zero-cost scores that any trial has, in the order of their first appearance.
std::vector<std::string> score_names(const std::vector<TrialSummary>& summaries);
/// The trial's score of that name; null if it has none.
const ScoreRow* score_of(const TrialSummary& summary, const std::string& name);

/// What to hold against accuracy.
enum class Measure { latency, macs, params, accelerator };
std::string_view name_of(Measure measure);

/// The value of a measure: milliseconds, MACs, parameters of the whole network, or the objective on the accelerator;
/// nothing if not measured.
std::optional<double> value_of(const TrialSummary& summary, Measure measure);

/// Trials with accuracy up and the measure down that no other trial beats, cheapest first, as indices into
/// `summaries`. Only trials on the highest rung that any candidate reached, and the original, are compared.
std::vector<std::size_t> pareto_front(const std::vector<TrialSummary>& summaries, Measure measure);

/// What a search was for: at most `accuracy_drop` (0..1) below the original at no more than `ratio` of its measure.
struct Goal {
  Measure measure = Measure::macs;
  double accuracy_drop = 0.02;
  double ratio = 0.5;
};

struct Miss {
  std::size_t index = 0;      ///< into `summaries`
  double accuracy_short = 0;  ///< how much accuracy is missing, 0 if enough
  double ratio_over = 0;      ///< how much the ratio is over the goal, 0 if within
  [[nodiscard]] bool met() const { return accuracy_short == 0 && ratio_over == 0; }
};

/// Candidates by distance from the goal, nearest first: those that meet it lead, best accuracy first; then by
/// accuracy_short / max(drop, 0.01) + ratio_over / ratio. At most `count`; empty if the original has no result.
std::vector<Miss> nearest_misses(const std::vector<TrialSummary>& summaries, const Goal& goal, std::size_t count);

}  // namespace kasimir::study
