// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/codegen/array_program.h"

#include <optional>
#include <set>

namespace kasimir {

/// Adds values and works out their shapes. What changes nothing gives its operand back, and what undoes the operation
/// before it gives that one's operand.
class ArrayBuilder {
 public:
  int given(int tensor, ArrayShape shape);
  int number(double value);
  int roll(int x, std::int64_t dim, std::int64_t by);
  int flip(int x, std::int64_t dim);
  int slice(int x, std::int64_t dim, std::int64_t start, std::int64_t stop, std::int64_t step = 1);
  int pad(int x, ArrayShape before, ArrayShape after);
  int windows(int x, std::int64_t dim, std::int64_t size, std::int64_t step);
  int unflatten(int x, std::int64_t dim, ArrayShape extents);  ///< no extents: the dimension, which is 1, goes
  int flatten(int x, std::int64_t first, std::int64_t last);   ///< last < first: a dimension of 1 is put at `first`
  int reshape(int x, ArrayShape shape);
  int squeeze(int x, std::int64_t dim);
  int unsqueeze(int x, std::int64_t dim);
  int permute(int x, ArrayShape order);
  int expand(int x, ArrayShape shape);
  int concat(std::vector<int> parts, std::int64_t dim);
  int apply(Fn fn, int a);
  int apply(Fn fn, int a, int b);
  int scale(int x, double factor);
  int reduce(int x, array::Fold fold, ArrayShape dims);  ///< those of extent 1 just go
  int softmax(int x, std::int64_t dim);
  int einsum(std::string equation, std::vector<int> operands, ArrayShape shape);
  int convolution(int x, int weight, const array::Convolution& op);
  int batch_norm(const std::array<int, 5>& operands, double epsilon);

  /// From here on the value is not looked through: what undoes it is kept.
  void seal(int x) { sealed_.insert(x); }

  [[nodiscard]] const ArrayShape& shape(int x) const { return at(x).shape; }
  [[nodiscard]] std::int64_t extent(int x, std::int64_t dim) const { return shape(x)[static_cast<std::size_t>(dim)]; }
  [[nodiscard]] std::int64_t dims(int x) const { return static_cast<std::int64_t>(shape(x).size()); }
  /// How many elements an array has for one image.
  [[nodiscard]] std::int64_t volume(int x) const;

  [[nodiscard]] std::vector<ArrayValue> take() && { return std::move(values_); }

 private:
  [[nodiscard]] const ArrayValue& at(int x) const { return values_[static_cast<std::size_t>(x)]; }
  /// What a value is made of; for a sealed one something that no operation undoes.
  [[nodiscard]] const ArrayValue& undoable(int x) const;
  int add(ArrayOp op, std::vector<int> operands, ArrayShape shape);

  std::vector<ArrayValue> values_;
  std::set<int> sealed_;
  ArrayValue opaque_{array::Given{}, {}, {}};
};

/// A read as an array with one dimension per iterator.
struct ArrayView {
  int value = -1;
  std::vector<int> iters;  ///< the iterator of each dimension; those of extent 1 may have none
};

/// The coordinate with each iterator once and without those that are always 0; large steps first.
BoundCoord tidy(const BoundStage& stage, const BoundCoord& coord);

/// Every affine coordinate works: what leaves the axis is padded or cut off once, then the axis is cut into digits, or
/// into overlapping windows.
ArrayView read_view(ArrayBuilder& build, const BoundStage& stage, const BoundRead& read, int source);

/// The same array with one dimension per iterator of `order`, of extent 1 where it has none.
int aligned(ArrayBuilder& build, const ArrayView& view, const std::vector<int>& order);

/// Takes an array with dimensions for left iterators to the axes of the stage's result.
int to_axes(ArrayBuilder& build, const BoundStage& stage, const ArrayView& view);

/// The stage `sum(activation * weight)` as a library convolution: up to two axes of the activation are walked through
/// windows, with strides or from an offset, the others are channels. Nothing where it has no such form.
std::optional<int> convolution_of(ArrayBuilder& build, const BoundGraph& graph, const BoundStage& stage,
                                  const BoundRead& activation, const BoundRead& weight, const std::vector<int>& held);

/// The four stages of a softmax: the largest, the exponentials, their sum, the quotient.
struct SoftmaxStages {
  std::array<std::size_t, 3> before;  ///< all but the last one, which nothing else needs
  int source = -1;                    ///< the tensor whose softmax it is
  std::int64_t first = 0, last = 0;   ///< the axes over which the result sums to 1
};
std::optional<SoftmaxStages> softmax_ending_at(const BoundGraph& graph, std::size_t last);

}  // namespace kasimir
