// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/native.h"
#include "kasimir/codegen/network_c.h"

/// How much faster a quantised network is than its float form, both as generated C.
namespace kasimir {

/// A quantisation of every weighted place for measurements of speed, which no value changes: weights symmetric, with
/// the step of each channel from its largest magnitude, activations with a given step, unsigned where they cannot be
/// negative (behind relu and what keeps its sign). @throws Error (input) as tensors_by_name and fit_scales.
Quantization quantization_for_speed(const NetworkPlan& plan, const std::vector<NamedTensor>& weights, int weight_bits,
                                    int activation_bits, float activation_step);

/// A ratio of times: the median over rounds, and its quartiles.
struct TimeRatio {
  double median = 0;
  double low = 0;
  double high = 0;
};

struct Int8Speed {
  double direct_ms = 0;  ///< floats, all products in register blocks; processor time of one run, the median
  double best_ms = 0;    ///< floats, default methods or tuned ones
  double int8_ms = 0;
  TimeRatio over_direct;  ///< direct / int8, of samples taken one after the other
  TimeRatio over_best;
  int rounds = 0;
  double difference =
      0;  ///< of the quantised network by products of bytes from one by float loops, of its largest score
};

struct Int8SpeedOptions {
  std::int64_t batch = 1;
  double seconds = 20;      ///< of sampling
  double tune_seconds = 0;  ///< for the float form and for the quantised one
  NativeOptions native = {};
};

/// Runs the quantised network both ways and compares before it takes any time: on one thread, for this machine.
/// Rejected as network_as_c and NativeNetwork, and with rule "int8: products of bytes equal float loops" where the
/// difference is above 1 % of the largest score (codes of values near a tie may differ).
Outcome<Int8Speed> measure_int8(const NetworkPlan& plan, const std::vector<NamedTensor>& weights,
                                const Quantization& quantization, const Int8SpeedOptions& options);

}  // namespace kasimir
