// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/ladder.h"
#include "kasimir/study/worker.h"

#include <functional>
#include <string>
#include <vector>

namespace kasimir::study {

struct SupervisorOptions {
  std::vector<std::string> argv;  ///< of a worker process; argv[0] is the path of the program
  int workers = 1;
  const std::atomic<int>* stop = nullptr;  ///< a StopRequest
  Clock clock = wall_clock;
  double poll_s = 0.25;
  double grace_s = 60;  ///< after a stop request: time for workers to give up their jobs before they are killed
};

/// What has happened since the last call: the state and the new events, oldest first.
using ReportProgress = std::function<void(const Progress&, const std::vector<Event>&)>;

/// Runs a study with worker processes until it is finished or stopped. A worker that dies is replaced and its job goes
/// back to the queue at once. Workers must end on SIGINT (give the job back) and die with this thread.
/// A worker process is expected to exit with 0, or with an Error's code, which ends the search.
/// @throws Error: a worker's Error, by its exit code; workers that die again and again; the store.
WorkerEnd supervise(const StudyPlace& place, const SupervisorOptions& options, const ReportProgress& report);

}  // namespace kasimir::study
