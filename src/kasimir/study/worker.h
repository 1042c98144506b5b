// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/study/store.h"

#include <atomic>
#include <functional>
#include <string>

namespace kasimir::study {

/// The strategy: the kernel of a trial number, or why there is none. A pure function of the study's seed and the
/// number, so that two workers never propose the same and a killed one is repeated exactly. Number 0 is the original
/// network.
using Ask = std::function<Outcome<Proposal>(int trial_number)>;

/// An evaluator's line to the store.
struct JobObserver {
  std::function<void(const CurveRow&)> epoch;  ///< stored at once; call it after every epoch
  /// True when the search was interrupted, the lease is lost, or the ladder stops the candidate after an epoch: return
  /// JobResult::stopped() soon.
  std::function<bool()> should_stop;
};

/// Trains or measures. A failure of the candidate is a result; an Error of fault input or system ends the worker; any
/// other exception is recorded as the job's failure.
using Evaluate = std::function<JobResult(const Job&, const Trial&, JobObserver&)>;

/// How a signal handler or another thread asks for an end.
enum StopRequest : int { go_on = 0, stop_soon = 1, stop_now = 2 };

struct WorkerOptions {
  std::string id;                          ///< empty: local_worker_id()
  const std::atomic<int>* stop = nullptr;  ///< a StopRequest
  Clock clock = wall_clock;                ///< called from two threads
  double lease_s = 60;                     ///< a worker that gives no sign of life for so long has lost its job
  double heartbeat_s = 5;
  double poll_s = 0.2;  ///< between questions while other workers hold all the work
};

enum class WorkerEnd { finished, stopped };

/// Takes job after job until the study is finished or a stop is asked for; an unfinished job goes back to the queue.
/// @throws Error (input, system): the store, or what Ask or Evaluate threw.
WorkerEnd run_worker(const StudyPlace& place, const Ask& ask, const Evaluate& evaluate,
                     const WorkerOptions& options = {});

}  // namespace kasimir::study
