// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/train/executor.h"

#include <optional>
#include <vector>

namespace kasimir {

/// One stage as a library convolution: see WindowForm. Nothing where it has none or where more than two axes have
/// windows, strides or offsets.
std::optional<Action> convolution_action(const BoundGraph& graph, const BoundStage& stage);

/// A sum over windows as average pooling, or a maximum over windows place by place.
std::optional<Action> pooling_action(const BoundGraph& graph, const BoundStage& stage);

/// Several stages as one operation. All but the last are not run on their own.
struct Fusion {
  std::vector<std::size_t> stages;  ///< ascending; the action runs in the last one's place
  Action action;
};

/// Batch norm ending in the stage at `last`: normalisation by stored statistics, or the two statistics before it too.
std::optional<Fusion> batch_norm_fusion(const BoundGraph& graph, std::size_t last);

/// The four stages of a softmax, ending at `last`.
std::optional<Fusion> softmax_fusion(const BoundGraph& graph, std::size_t last);

}  // namespace kasimir
