// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <optional>
#include <vector>

namespace kasimir {

/// How a convolution walks one axis of its input: coordinate = stride * position + dilation * window + offset.
struct WindowWalk {
  int axis = 0;
  int position = -1;        ///< iterator of the left side; -1 for an axis of extent 1
  int window = -1;          ///< reduced iterator; -1 for none
  std::int64_t input = 1;   ///< extent of the axis
  std::int64_t output = 1;  ///< extent of the position
  std::int64_t stride = 1;
  std::int64_t size = 1;  ///< of the window
  std::int64_t dilation = 1;
  std::int64_t offset = 0;

  [[nodiscard]] bool identity() const { return window < 0 && stride == 1 && offset == 0 && input == output; }
  /// Zeros before the first element; negative: elements left out.
  [[nodiscard]] std::int64_t before() const { return -offset; }
  /// The same behind the last one, so that exactly `output` positions fit.
  [[nodiscard]] std::int64_t after() const {
    return stride * (output - 1) + dilation * (size - 1) + offset - (input - 1);
  }
};

/// An axis that is rotated before it is read.
struct Rotation {
  std::int64_t axis, by;
};

/// A stage that is a convolution in the wide sense: the sum of one activation times one weight, where positions are
/// walked and channels are joined. Without windows it is a product of matrices.
struct WindowForm {
  int activation = -1;
  int weight = -1;
  std::vector<Rotation> rotations;
  int batch_axis = -1;
  std::vector<WindowWalk> walks;                           ///< all axes of the activation but batch and channels
  std::vector<std::pair<int, std::vector<int>>> channels;  ///< axes of the activation that are joins: (axis, digits)
  std::vector<int> weight_iters;                           ///< iterator of each axis of the weight; -1 for extent 1
  std::vector<int> groups;                                 ///< in both and left
  std::vector<int> outs;                                   ///< in the weight and left
  std::vector<int> ins;  ///< in both and reduced, without windows; in the activation's order
};

/// The stage's window form, if it has one.
std::optional<WindowForm> window_form(const BoundGraph& graph, const BoundStage& stage);

}  // namespace kasimir
