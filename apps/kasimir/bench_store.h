// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace kasimir {

struct BenchStore {
  std::string study;     ///< a new one, see StudyPlace; empty: a file in a temporary folder
  int trials = 100'000;  ///< candidates, each proposed, accepted, two epochs long and finished
  bool json = false;
};

/// Fills a study as workers do and times that, and then the table and the page of all of it. Returns the exit code.
int bench_store(const BenchStore& options);

}  // namespace kasimir
