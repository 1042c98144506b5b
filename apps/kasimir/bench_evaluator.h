// SPDX-License-Identifier: Apache-2.0
#pragma once

namespace kasimir {

struct BenchEvaluator {
  double seconds = 0.3;  ///< for each number
  bool json = false;
};

/// How many mappings of one convolution the two evaluators of the accelerator engine cost in a second of one thread, on
/// each preset: a table, or one JSON object per preset. Returns the exit code.
int bench_evaluator(const BenchEvaluator& options);

}  // namespace kasimir
