// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"
#include "kasimir/train/torch.h"

#include <variant>
#include <vector>

namespace kasimir {

/// Sums the coefficients of an iterator that occurs twice, and drops what is always 0: zero coefficients and iterators
/// of extent 1. Largest coefficient first, then largest extent.
BoundCoord simplified(const BoundStage& stage, const BoundCoord& coord);

/// True if the terms, largest coefficient first, are the digits of a mixed radix with unit `unit`.
bool is_mixed_radix(const BoundStage& stage, const BoundCoord& coord, std::int64_t unit);

/// A read as a view of its tensor with one dimension per iterator. Iterators of extent 1 may have none. Every affine
/// coordinate works: what leaves the axis is padded or cropped once, then the axis is cut into overlapping windows.
class ReadView {
 public:
  ReadView(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read);

  /// The iterator of each dimension of the result.
  [[nodiscard]] const std::vector<int>& iters() const { return iters_; }
  [[nodiscard]] at::Tensor apply(const at::Tensor& tensor) const;

 private:
  struct Roll {
    std::int64_t dim, by;
  };
  struct Flip {
    std::int64_t dim;
  };
  struct Narrow {
    std::int64_t dim, start, length;
  };
  struct Pad {
    std::vector<std::int64_t> amounts;
  };
  struct Every {
    std::int64_t dim, step;
  };
  struct Unflatten {
    std::int64_t dim;
    std::vector<std::int64_t> extents;
  };
  struct Windows {
    std::int64_t dim, size, step;
  };
  struct Squeeze {
    std::int64_t dim;
  };
  struct Diagonal {
    std::int64_t first, second;
  };
  using Move = std::variant<Roll, Flip, Narrow, Pad, Every, Unflatten, Windows, Squeeze, Diagonal>;

  BoundCoord unwrapped(const BoundCoord& coord, std::int64_t dim);
  void fit(const BoundStage& stage, std::vector<BoundCoord>& coords, const std::vector<std::int64_t>& extents);
  std::vector<int> cut(const BoundStage& stage, BoundCoord coord, std::int64_t dim);
  void meet_diagonals();

  static at::Tensor make(const Move& move, const at::Tensor& tensor);

  std::vector<Move> moves_;
  std::vector<int> iters_;
};

/// Brings a tensor with dimensions for `iters` to one dimension per iterator of `order`, of size 1 where it is absent.
at::Tensor aligned(const at::Tensor& tensor, const std::vector<int>& iters, const std::vector<int>& order);

/// Iterators of the left side, in memory order.
std::vector<int> left_iters(const BoundStage& stage);

/// Takes the tensor that has one dimension per iterator of `order` (a permutation of left_iters, but without iterators
/// of extent 1 where `order` lacks them) to the axes of the stage's result; sizes 1 are repeated to the full extent.
at::Tensor to_axes(const BoundStage& stage, const at::Tensor& tensor, const std::vector<int>& order);

}  // namespace kasimir
