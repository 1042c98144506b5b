// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/step_facts.h"

namespace kasimir {

/// True if `second` after `first` gives every element back in its place: decided by following all coordinates at every
/// site, with several values of the free symbols. Without sites, and where no values make all sizes whole, false.
/// @pre both are views.
bool undoes(const StepFacts& first, const StepFacts& second, const SiteSet& sites);

}  // namespace kasimir
