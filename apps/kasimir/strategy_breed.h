// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/strategy.h"

#include "kasimir/base/rng.h"

#include <functional>
#include <optional>
#include <string_view>

namespace kasimir {

/// Chooses a trial as a parent; `other` is one already.
using ParentChoice = std::function<int(Rng& rng, std::optional<int> other)>;

/// One try of a strategy that breeds: at random for the first generation and a share of what follows, else one parent
/// mutated or two crossed.
Outcome<Idea> breed(const Task& task, std::string_view strategy, const ParentChoice& parent);

/// The most accurate of a few out of the better half, which has no place for `other`.
int accurate_parent(const History& history, Rng& rng, std::optional<int> other);

}  // namespace kasimir
