// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <functional>
#include <map>

namespace kasimir {

using BoundNodes = std::vector<BoundNode>;

/// Appends the nodes that `root` needs, with reads changed by `change`; returns where the root came to stand.
int append(BoundNodes& to, const BoundNodes& from, int root, const std::function<BoundRead(const BoundRead&)>& change);

/// Only what the last node needs, each node once.
BoundNodes prune(const BoundNodes& nodes, int root);

/// The expression is zero where all its activations are, whatever the weights.
bool zero_at_zero(const BoundNodes& nodes, const std::vector<bool>& weights);

/// Applications of functions that cost more than an addition.
int costly_functions(const BoundNodes& nodes);

/// The stage computes one value per element of its result, with factor 1.
bool is_pointwise(const BoundStage& stage);

/// Every coordinate is the plain iterator of the result's axis of the same number: the read is at the result's place.
bool reads_in_place(const BoundStage& stage, const BoundRead& read, const BoundTensor& tensor);

}  // namespace kasimir
