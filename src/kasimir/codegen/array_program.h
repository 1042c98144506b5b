// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <array>
#include <string>
#include <variant>
#include <vector>

namespace kasimir {

/// The extent of a batch axis in the shape of an array: as many images as the caller brings.
inline constexpr std::int64_t any_batch = -1;
using ArrayShape = std::vector<std::int64_t>;

/// What array libraries have in common. Closed: PyTorch and ONNX visit all of them. Dimensions count from 0.
namespace array {

/// The graph's input, a weight or a stored statistic.
struct Given {
  int tensor = -1;
  bool operator==(const Given&) const = default;
};
/// A number; broadcasts.
struct Number {
  double value = 0;
  bool operator==(const Number&) const = default;
};
/// Element i comes from (i - by) modulo the extent.
struct Roll {
  std::int64_t dim, by;
  bool operator==(const Roll&) const = default;
};
/// The last element first.
struct Flip {
  std::int64_t dim;
  bool operator==(const Flip&) const = default;
};
/// Every `step`-th element from `start` up to, not with, `stop`.
struct Slice {
  std::int64_t dim, start, stop, step;
  bool operator==(const Slice&) const = default;
};
/// Zeros before and after each dimension.
struct Pad {
  ArrayShape before, after;
  bool operator==(const Pad&) const = default;
};
/// Windows of `size` elements that begin `step` apart: their number in place of `dim`, their elements behind it.
struct Windows {
  std::int64_t dim, size, step;
  bool operator==(const Windows&) const = default;
};
struct Unflatten {
  std::int64_t dim;
  ArrayShape extents;
  bool operator==(const Unflatten&) const = default;
};
/// Dimensions first .. last, both included, as one.
struct Flatten {
  std::int64_t first, last;
  bool operator==(const Flatten&) const = default;
};
/// Another shape; for arrays without a batch.
struct Reshape {
  ArrayShape shape;
  bool operator==(const Reshape&) const = default;
};
struct Squeeze {
  std::int64_t dim;
  bool operator==(const Squeeze&) const = default;
};
struct Unsqueeze {
  std::int64_t dim;
  bool operator==(const Unsqueeze&) const = default;
};
/// Dimension i is the operand's dimension order[i].
struct Permute {
  ArrayShape order;
  bool operator==(const Permute&) const = default;
};
/// Dimensions of extent 1 are repeated.
struct Expand {
  ArrayShape shape;
  bool operator==(const Expand&) const = default;
};
struct Concat {
  std::int64_t dim;
  bool operator==(const Concat&) const = default;
};
/// A function of one or two arrays, element by element, with broadcasting.
struct Function {
  Fn fn;
  bool operator==(const Function&) const = default;
};
enum class Fold : std::uint8_t { sum, mean, max };
/// Over dimensions, which disappear.
struct Reduction {
  Fold fold;
  ArrayShape dims;  ///< ascending
  bool operator==(const Reduction&) const = default;
};
/// Exponentials divided by their sum along a dimension.
struct Softmax {
  std::int64_t dim;
  bool operator==(const Softmax&) const = default;
};
/// A sum of products: one letter per dimension, "nchw,oc->nohw".
struct Einsum {
  std::string equation;
  bool operator==(const Einsum&) const = default;
};
/// Of [n, groups * ins, rows, columns] with [groups * outs, ins, window rows, window columns].
struct Convolution {
  std::array<std::int64_t, 2> stride{1, 1};
  std::array<std::int64_t, 2> dilation{1, 1};
  std::array<std::int64_t, 2> before{0, 0};  ///< zeros above and on the left
  std::array<std::int64_t, 2> after{0, 0};   ///< zeros below and on the right
  std::int64_t groups = 1;
  bool operator==(const Convolution&) const = default;
};
/// Operands x, scale, offset, mean, variance: (x - mean) / sqrt(variance + epsilon) * scale + offset along dimension 1.
struct BatchNorm {
  double epsilon = 0;
  bool operator==(const BatchNorm&) const = default;
};

}  // namespace array

using ArrayOp = std::variant<array::Given, array::Number, array::Roll, array::Flip, array::Slice, array::Pad,
                             array::Windows, array::Unflatten, array::Flatten, array::Reshape, array::Squeeze,
                             array::Unsqueeze, array::Permute, array::Expand, array::Concat, array::Function,
                             array::Reduction, array::Softmax, array::Einsum, array::Convolution, array::BatchNorm>;

/// One array: how it is made of earlier ones.
struct ArrayValue {
  ArrayOp op;
  std::vector<int> operands;  ///< indices of values
  ArrayShape shape;
};

/// The result of one stage.
struct ArrayStage {
  std::size_t stage = 0;  ///< its index in the graph
  int tensor = -1;        ///< the tensor that it defines
  int value = -1;         ///< the array that holds it
};

/// A kernel as operations on whole arrays, for any number of images. Values that no stage needs may be among them.
struct ArrayProgram {
  std::vector<ArrayValue> values;
  std::vector<ArrayStage> stages;  ///< in order
  int result = -1;

  /// Which values the results of stages are made of.
  [[nodiscard]] std::vector<bool> needed() const;
};

/// Kernels are lowered at this batch size to become programs for any: an extent of 1 would let the batch disappear.
inline constexpr std::int64_t program_batch = 2;

/// @param graph bound at batch size `program_batch`, in training or frozen form, views inlined or not.
/// Stages become, by what fits first: a softmax (of several stages), a convolution, a concatenation, a batch norm by
/// stored statistics, an einsum, or functions with broadcasting and a reduction.
ArrayProgram array_program(const BoundGraph& graph);

}  // namespace kasimir
