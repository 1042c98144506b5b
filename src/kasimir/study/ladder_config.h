// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/study/record.h"

#include <array>
#include <string>
#include <vector>

namespace kasimir::study {

/// How trials climb. Kept under "ladder" in a study's spec.
///
/// Time. `time_limit_s` counts active seconds: those in which at least one worker of the study lived; a resumed search
/// goes on with what is left. New candidates are asked for until the seconds that the later phases will need, predicted
/// from the measured seconds of finished jobs and `rung_cost`, no longer fit; but at least for the share
/// `explore_min` of the limit, and at least `finalists` of them. Rung `longer` ends early, with at least `finalists`
/// results, when the finalists' predicted time no longer fits. Finalists and their latency are always completed, even
/// past the limit.
struct LadderConfig {
  int trials = 0;            ///< candidates to try, rejected ones not counted; 0: as many as time allows
  double time_limit_s = 0;   ///< active seconds; 0: no limit
  int workers = 1;           ///< for predictions only
  double promote = 1.0 / 3;  ///< share of the finished candidates that go on to rung `longer`; 0: the rung is left out
  int finalists = 3;
  int finalist_seeds = 3;
  std::array<double, 3> rung_cost = {1, 3, 10};  ///< relative cost of a job of rungs quick, longer, full
  double latency_s = 20;                         ///< expected seconds of one latency job; 0: no latency phase
  double explore_min = 0.25;                     ///< share of the time limit
  int give_up_after = 1000;                      ///< rejected candidates in a row after which no more are asked for
  double stop_below = 0;  ///< chance of beating its bar (stopping.h) below which a candidate is not
                          ///< trained on rung longer, or no further; 0: all are
  bool original_first = false;                   ///< on rung full others wait for the original's first repetition
  int max_lost = 3;                              ///< deaths of workers over the same job after which it is failed

  /// @throws Error (input): unknown key, wrong type, a value out of range, or neither trials nor time limit.
  static LadderConfig from_json(const Json& json);
  [[nodiscard]] Json to_json() const;
  bool operator==(const LadderConfig&) const = default;
};

/// Keys of a spec, as paths with dots, that a later command may change, or that follow from other keys and would only
/// repeat their difference: the study takes the new value.
const std::vector<std::string>& resumable_keys();

/// Where two specs differ, except in resumable keys: "network: resnet8 in the study, resnet20 asked".
std::vector<std::string> spec_differences(const Json& stored, const Json& asked);

}  // namespace kasimir::study
