// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <optional>

namespace kasimir {

/// The rules that every graph of stages keeps, whoever made it (docs/decisions/0001-stages.md lists them as V1..V12).
/// Returns the first broken rule, with the stage's text.
std::optional<Rejection> verify(const BoundGraph& graph);

/// True if no weight's extent contains H, W, or the kind height, width or a token made of positions.
bool independent_of_resolution(const Graph& graph);

}  // namespace kasimir
