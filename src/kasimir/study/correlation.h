// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/statistics.h"
#include "kasimir/study/store.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kasimir::study {

struct CorrelationOptions {
  std::optional<Rung> with;  ///< none: the highest training rung on which enough candidates have a result
  int least = 8;             ///< candidates that it takes. A judgement
  double confidence = 0.95;
  int repeats = 1000;  ///< of the bootstrap
  std::uint64_t seed = 1;
};

/// How well one early measurement ranks the candidates.
struct CorrelationRow {
  std::string what;  ///< "score zen", "MACs", "parameters", "rung quick", "rung quick, epoch 1"
  int trials = 0;    ///< candidates that have both
  double tau = 0;    ///< Kendall's, with the accuracy on the last rung
  ConfidenceInterval interval;
  std::optional<double> seconds;  ///< what it took for a candidate, in the mean
};

struct Correlations {
  Rung with = Rung::full;
  int trials = 0;  ///< candidates with a result there
  std::vector<CorrelationRow> rows;
};

/// Of every score, of the counts, and of every rung and epoch with the accuracy on the last rung, over the candidates
/// of a study. Several seeds count by their mean; a score without a value is the lowest of all. Rows of fewer than
/// `least` candidates are left out. @throws Error (input) if too few candidates have a result on a rung.
Correlations correlations(const Store& store, const CorrelationOptions& options = {});

}  // namespace kasimir::study
