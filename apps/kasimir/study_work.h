// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/worker.h"

#include <string>

namespace kasimir {

struct StudyWork {
  int workers = 1;        ///< processes of this program
  bool log_json = false;  ///< events as JSON lines, and nothing else
  std::string report;     ///< where the page goes; empty: beside the study
};

/// Works on a study until it is finished or stopped, says what happens, then writes its report and prints its table.
study::WorkerEnd work_and_report(const std::string& study, const StudyWork& work, const std::atomic<int>& stop);

}  // namespace kasimir
