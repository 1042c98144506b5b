// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/strategy.h"

/// The strategies, each in a file of its own: strategy_NAME.cpp.
namespace kasimir {

extern const Strategy random_strategy;
extern const Strategy evolution_strategy;
extern const Strategy nsga2_strategy;
extern const Strategy tree_strategy;
extern const Strategy surrogate_strategy;

}  // namespace kasimir
