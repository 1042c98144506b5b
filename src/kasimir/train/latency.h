// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/outcome.h"
#include "kasimir/network/plan.h"

#include <string>
#include <vector>

namespace kasimir {

struct VerifyOptions {
  double bound = 1e-4;             ///< largest error, relative to the largest value of the output ..
  double rounding = 1e-6;          ///< .. beside this share of the largest value anywhere: large values may cancel
  std::int64_t work = 20'000'000;  ///< scalar steps that the interpreter may take; a larger site is made smaller
  std::uint64_t seed = 1;
};

/// A kernel run as it is run in training (float32, shortcuts on) against the interpreter (double), batch 1, frozen.
struct VerifyResult {
  std::string kernel;
  Site site;         ///< where it belongs
  Site checked_at;   ///< the same with a smaller map, where the interpreter would have taken too long
  double error = 0;  ///< largest difference, relative to the largest value of the output
  bool ok = false;   ///< the error is finite and within the bound
};
VerifyResult verify_kernel(const Kernel& kernel, const Site& site, const VerifyOptions& options = {});

/// Every kernel of the plan at every site of its own. Rejected with rule "latency: the kernel computes what it means"
/// by the first that does not.
Outcome<std::vector<VerifyResult>> verify_kernels(const NetworkPlan& plan, const VerifyOptions& options = {});

struct LatencyOptions {
  int batch = 1;
  int threads = 1;
  int warmup = 3;            ///< runs of each before the first sample
  int repeats = 30;          ///< samples of each, at least
  double min_seconds = 0.5;  ///< goes on sampling until so much time is spent
  int most_repeats = 1000;
  std::uint64_t seed = 1;
  VerifyOptions verify = {};
};

/// Median and quartiles of a set of samples, in milliseconds.
struct Quartiles {
  double low = 0;
  double median = 0;
  double high = 0;
  [[nodiscard]] double spread() const { return median > 0 ? (high - low) / median : 0; }  ///< relative
};
Quartiles quartiles(std::vector<double> samples);

/// Whole-network inference times; sample i of both were taken right after each other.
struct LatencySamples {
  std::vector<double> candidate_ms;
  std::vector<double> original_ms;
  Quartiles candidate;
  Quartiles original;
  double speedup = 0;                ///< median of the original / median of the candidate
  std::vector<VerifyResult> checks;  ///< one per distinct kernel and site; generated C has one more, against ATen
  int set_aside = 0;                 ///< pairs that are not among the samples, because a program had to wait
  std::string machine;
};

/// As eager PyTorch. Verifies the candidate's kernels, then measures. Rejected with rule "latency: the kernel computes
/// what it means" if a check fails: no time is taken then. `original` usually replaces nothing.
Outcome<LatencySamples> measure_latency(const NetworkPlan& candidate, const NetworkPlan& original,
                                        const LatencyOptions& options = {});

}  // namespace kasimir
