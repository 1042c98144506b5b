// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/error.h"
#include "kasimir/synth/sampler.h"

namespace kasimir {

/// The error (unsolved) of a sampling that found too little: what ended the attempts, with a nearest miss each.
Error nothing_found(const Sampler& sampler, const SampleStats& stats, std::size_t found, std::size_t wanted);

/// @throws Error (unsolved) if not one legal kernel is found in a few thousand attempts.
void check_space_of(const Sampler& sampler);

}  // namespace kasimir
