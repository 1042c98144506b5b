// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"
#include "kasimir/synth/spectrum.h"

namespace kasimir {

/// How fast a sampler works, and what it yields. Rates are per second of processor time of one thread.
struct SamplerBench {
  std::uint64_t seed = 0;
  std::uint64_t attempts = 0;
  std::uint64_t legal = 0;                 ///< grown, within budget at every site
  double legal_per_cpu_second = 0.0;       ///< from a cold start: with all that is worked out on the way
  double legal_per_cpu_second_warm = 0.0;  ///< over the second half of the attempts
  double identified_per_cpu_second = 0.0;  ///< with normal form, fingerprint and a set of what was seen
  double mutated_per_cpu_second = 0.0;     ///< legal children of kernels that were drawn, with a warm memory (moves.h)
  double crossed_per_cpu_second = 0.0;     ///< the same of pairs
  double share_mutated = 0.0, share_crossed = 0.0;  ///< calls that gave one
  double two_threads_speedup = 0.0;     ///< legal kernels per second of two threads against one, by the clock
  std::uint64_t same_form = 0;          ///< kernels whose normal form was met before
  std::uint64_t same_function = 0;      ///< others whose function was met before
  std::uint64_t told_apart = 0;         ///< others whose fingerprint was met before, with another function (find.h)
  double yielded_per_cpu_second = 0.0;  ///< not met before, and with nothing in vain (Semantics::waste)
  std::uint64_t yielded = 0, yielded_of = 0;
  std::uint64_t unidentified = 0;                     ///< too large for every tiny site: they count as distinct
  double use_p1 = 0.0, use_p10 = 0.0, use_p50 = 0.0;  ///< of the binding budget, kernels with a free symbol only
  double width_ratio_p90 = 0.0;                       ///< of a free symbol to Co: largest over smallest across sites
  double share_with_free_symbols = 0.0;
  double share_composite_steps = 0.0;   ///< steps that came with composites (composite.h)
  double share_forced_steps = 0.0;      ///< steps that were drawn from those that lead to the end
  std::uint64_t shapes = 0, moves = 0;  ///< that were worked out for these attempts (world.h)
  Spectrum spectrum{0};
  double effective_skeletons = 0.0;  ///< of the first `skeletons_of` kernels
  std::uint64_t skeletons_of = 0;
  std::uint64_t labelled = 0;  ///< kernels that the shares below are of (labels.h)
  double share_blind = 0.0, share_mixing = 0.0, share_neighbourhood = 0.0, share_global = 0.0;
  double share_linear = 0.0, share_idle = 0.0;  ///< linear in the input; with a step that may be left out
  std::uint64_t yielded_labelled = 0;           ///< those of them with nothing in vain; the shares below are of these
  double share_yielded_blind = 0.0, share_yielded_idle = 0.0;
  std::vector<std::string> examples;  ///< ten kernels as texts

  [[nodiscard]] double share_legal() const { return static_cast<double>(legal) / static_cast<double>(attempts); }
  /// Of the legal ones, those whose function was not met before.
  [[nodiscard]] double share_distinct() const {
    return legal == 0 ? 0.0 : 1.0 - static_cast<double>(same_form + same_function) / static_cast<double>(legal);
  }
};

SamplerBench bench_sampler(const Sampler& sampler, std::uint64_t attempts);

}  // namespace kasimir
