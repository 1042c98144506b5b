// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/table.h"
#include "kasimir/study/store.h"

#include <string>

namespace kasimir::report {

/// What `kasimir study show` prints: the original first, then the trials by rung and accuracy. Rejected trials are not
/// among them: see `rejection_table`.
Table study_table(const study::Store& store);

/// Rules that rejected or failed trials, most frequent first, with the trial that missed each least.
Table rejection_table(const study::Store& store);

/// One JSON object per trial and line, by number; 0 is the original, with an empty kernel. Keys: number, state, rung,
/// kernel, accuracy (validation split, 0..1), accuracy_spread (sample standard deviation over seeds), test_accuracy,
/// latency_ms (median), latency_ratio (to the original, measured beside it), macs and params (of the whole network),
/// score_NAME (no value: the worst) and score_NAME_s (seconds) for each zero-cost score that any trial has, reason.
/// Numbers and rungs that are not known are null; texts are never.
std::string study_json(const study::Store& store);

/// The same as CSV (RFC 4180, lines end in \n) with a header; what is not known is empty.
std::string study_csv(const study::Store& store);

}  // namespace kasimir::report
