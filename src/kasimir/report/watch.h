// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/store.h"

#include <string>

/// What a terminal shows of a study while it runs (`kasimir study watch`). Nothing here writes to the study.
namespace kasimir::report {

struct WatchBlock {
  std::string text;       ///< lines, each closed by a line break
  bool finished = false;  ///< nothing will change any more
};

/// How far each rung is, who works and for how long their word is good, the front so far, the last trials, and when
/// the search is expected to end, from one state of the study. `now` is in seconds since 1970-01-01 UTC.
WatchBlock watch_block(const study::Store& store, double now);

}  // namespace kasimir::report
