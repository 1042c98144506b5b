// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <string>
#include <vector>

namespace kasimir {

/// Which shortcuts the executor may take instead of the plain evaluation of a stage. None changes what is computed
/// beyond rounding; the differential tests run each on and off.
struct Peepholes {
  bool convolution = true;  ///< activation times weight, summed: a library convolution or matrix product
  bool contraction = true;  ///< other sums of products: einsum
  bool batch_norm = true;   ///< mean, variance and normalisation as one operation
  bool softmax = true;      ///< the four stages of a softmax as one operation
  bool concat = true;       ///< `a | b` along one axis: a concatenation
  bool pooling = true;      ///< sums and maxima over windows: pooling

  static Peepholes none() { return {false, false, false, false, false, false}; }
  bool operator==(const Peepholes&) const = default;
};

struct AtenOptions {
  Peepholes peepholes = {};
  bool single_precision = false;       ///< float32 as in training; else double
  std::vector<double> cotangent = {};  ///< empty: no gradients; else the gradient of some loss by the output
};

/// Row-major values.
struct AtenResult {
  std::vector<double> output;
  std::vector<std::vector<double>> statistics;  ///< by tensor number: results of statistic stages, else empty
  std::vector<std::vector<double>> gradients;   ///< by tensor number: of the input and the weights, else empty
};

/// Runs a graph once with ATen. `values` has one entry per tensor of the graph, filled for the input, the weights and,
/// in a frozen graph, the statistics. The library's own interface to the executor: training keeps tensors instead.
AtenResult run_aten(const BoundGraph& graph, const std::vector<std::vector<double>>& values,
                    const AtenOptions& options);

/// How the graph would be run, one word per operation in order: "convolution", "einsum", "batch norm", "softmax",
/// "concatenation", "pooling", "plain".
std::vector<std::string> execution_plan(const BoundGraph& graph, const Peepholes& peepholes);

}  // namespace kasimir
