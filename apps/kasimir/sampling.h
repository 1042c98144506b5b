// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"
#include "kasimir/synth/sampler.h"

namespace kasimir {

/// The error (unsolved) of a sampling that found too little: what ended the attempts, with a nearest miss each.
Error nothing_found(const Sampler& sampler, const SampleStats& stats, std::size_t found, std::size_t wanted);

/// A budget for commands that measure nothing; an empty text is the default.
/// @throws Error (input) as Budget::parse, and for a limit on latency.
Budget sampling_budget(const std::string& text);

/// @throws Error (unsolved) if not one legal kernel is found in a few thousand attempts.
void check_space_of(const Sampler& sampler);

/// Sampled kernels with different texts, `count` or as many as a million attempts give, or the one of the file.
/// @throws Error as read_kernel.
std::vector<Kernel> bench_kernels_of(const std::string& file, const std::vector<SiteLoad>& loads,
                                     const SampleOptions& sampling, std::uint64_t seed, int count);

}  // namespace kasimir
