// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/onnx/constant.h"

#include <cstdint>
#include <optional>
#include <vector>

namespace kasimir {

/// An axis of an array of `rank` axes, which may be counted from behind. @throws Error (input) beyond them.
std::size_t axis_of(const OnnxNode& node, std::int64_t axis, std::size_t rank);

/// The shape that Reshape asks for: 0 keeps an extent, -1 is what is left. @throws Error (input) if elements would be
/// lost or made.
std::vector<std::int64_t> reshape_target(const OnnxNode& node, const std::vector<std::int64_t>& from,
                                         const std::vector<std::int64_t>& wanted);

/// The shape of Squeeze and Unsqueeze. No axes given: all of extent 1.
std::vector<std::int64_t> squeezed(const OnnxNode& node, std::vector<std::int64_t> shape,
                                   const std::vector<std::int64_t>& axes, bool given);
std::vector<std::int64_t> unsqueezed(const OnnxNode& node, std::vector<std::int64_t> shape,
                                     const std::vector<std::int64_t>& axes);

/// A list of whole numbers that is attribute `name` or, in later operator sets, input `i`; nothing where neither is
/// given. `inputs` holds null for inputs that are left out.
std::optional<std::vector<std::int64_t>> numbers_of(const OnnxNode& node, const char* name, std::size_t i,
                                                    const std::vector<const OnnxConstant*>& inputs);

/// What Slice takes along one axis of this extent.
struct SliceRange {
  std::int64_t first = 0;
  std::int64_t count = 0;
  std::int64_t step = 1;
};
SliceRange slice_range(const OnnxNode& node, std::int64_t extent, std::int64_t start, std::int64_t end,
                       std::int64_t step);

/// The shape of two arrays that are stretched to each other.
std::vector<std::int64_t> broadcast(const OnnxNode& node, const std::vector<std::int64_t>& a,
                                    const std::vector<std::int64_t>& b);

/// For each element of `shape`, row-major, where an array of shape `from`, stretched to it, has it.
std::vector<std::int64_t> stretched(const std::vector<std::int64_t>& from, const std::vector<std::int64_t>& shape);

}  // namespace kasimir
