// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/study/ladder_config.h"
#include "kasimir/study/store.h"

#include <optional>
#include <string>
#include <variant>
#include <vector>

namespace kasimir::study {

/// Nothing to do just now.
struct Wait {
  std::string reason;
};
/// Nothing to do any more.
struct Finished {};
using Next = std::variant<Lease, Wait, Finished>;

/// Who asks for work, and for how long it gets it without a sign of life.
struct Claim {
  std::string worker;
  double now = 0;
  double lease_s = 60;
};

/// What to do next, decided in one transaction from what the store holds, so that any worker may ask.
/// A lease of a trial in state `proposed` has no kernel yet: the worker asks for it by the trial's number.
/// Phases: every candidate on rung quick; the best share on longer; finalists and the original in full over several
/// seeds; the finalists' latency, one at a time with no other job running.
Next next(Store& store, const Claim& claim);

/// Why a candidate in training is stopped after this epoch, as `LadderConfig::stop_below` says; nothing if it goes on.
std::optional<Rejection> stops_after(const Store& store, const Job& job, const CurveRow& row);

/// The first `count` trials in the order in which finalists are taken: those that no other beats in accuracy, MACs,
/// parameters and, where all have one, latency first; within each front by accuracy. Where all have a cost on an
/// accelerator, it stands in place of MACs and latency, which are about other machines.
std::vector<int> rank(const std::vector<RungResult>& results, std::size_t count);

/// Where the search stands, for progress lines.
struct Progress {
  int phase = 0;                     ///< a Rung, or rung_count when finished
  std::map<TrialState, int> trials;  ///< without trial 0
  std::map<Rung, JobCounts> jobs;
  std::optional<double> original_accuracy;  ///< on the highest rung it finished
  std::optional<RungResult> best;           ///< the most accurate candidate on the highest rung with a result
  Rung best_rung = Rung::quick;
  double active_seconds = 0;
  std::optional<double> seconds_left;  ///< predicted; nothing before the first job is done
};
Progress progress(const Store& store);
/// "rung longer", or "finished".
std::string phase_text(int phase);
/// "12 candidates evaluated or in training, 3 screened out, 0 failed; about 4 min left".
std::string str(const Progress& progress);

}  // namespace kasimir::study
