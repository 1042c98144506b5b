// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string>

namespace kasimir {

struct StudyCorrelate {
  std::string path;
  std::string with;  ///< a rung's name; empty: the highest that enough candidates reached
  int least = 8;
  int repeats = 1000;
  std::uint64_t seed = 1;
  bool json = false;
};

/// Prints how well scores and rungs of a study rank its candidates. @throws Error (input) as study::correlations.
int correlate(const StudyCorrelate& options);

}  // namespace kasimir
