// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/sampler.h"

namespace kasimir {

/// Lists all kernels of 1, 2, .. up to `most` primitives at the sampler's sites, without its budget, and prints how
/// many there are; `json`: one object per length and line. With `prefixes` the last length is estimated from so many
/// kernels without their last step (Enumeration::estimate), drawn with the sampler's seed.
int enumerate_kernels(const Sampler& sampler, int most, std::size_t prefixes, bool json);

}  // namespace kasimir
