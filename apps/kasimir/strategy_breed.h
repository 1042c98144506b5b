// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/strategy.h"

#include "kasimir/base/rng.h"

#include <functional>
#include <optional>
#include <string_view>

namespace kasimir {

/// Kernels drawn at random before any is bred: a first generation.
inline constexpr std::size_t first_generation = 16;

/// Chooses a trial as a parent; `other` is one already.
using ParentChoice = std::function<int(Rng& rng, std::optional<int> other)>;

/// One try of a strategy that breeds: at random for the first generation and a share of what follows, else one parent
/// mutated or two crossed.
Outcome<Idea> breed(const Task& task, std::string_view strategy, const ParentChoice& parent);

}  // namespace kasimir
