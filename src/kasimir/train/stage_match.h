// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <map>
#include <optional>
#include <vector>

namespace kasimir {

/// A stage's expression, taken apart by shape: the order in which a builder stored operands does not matter.
class Pattern {
 public:
  explicit Pattern(const BoundStage& stage) : stage_(&stage) {}

  [[nodiscard]] int root() const { return static_cast<int>(stage_->nodes.size()) - 1; }
  /// The node as an application of `fn`, or nullptr.
  [[nodiscard]] const Apply* apply(int node, Fn fn) const;
  [[nodiscard]] const BoundRead* read(int node) const;
  [[nodiscard]] std::optional<Rational> constant(int node) const;  ///< a constant without pi

 private:
  [[nodiscard]] const BoundNode& at(int node) const { return stage_->nodes[static_cast<std::size_t>(node)]; }
  const BoundStage* stage_;
};

/// The iterators of a read in which every coordinate is one iterator and nothing else, as long as its axis.
std::optional<std::vector<int>> plain_iters(const BoundGraph& graph, const BoundStage& stage, const BoundRead& read);

/// The left side's iterators if every axis is exactly one digit.
std::optional<std::vector<int>> plain_left(const BoundStage& stage);

/// Iterators of one stage that stand for iterators of another.
using Renaming = std::map<int, int>;

/// Extends `renaming` (of iterators of `from` to those of `to`) so that both reads are the same elements.
bool same_read(const BoundStage& from, const BoundRead& a, const BoundStage& to, const BoundRead& b,
               Renaming& renaming);
/// Extends `renaming` by one pair; false if either is taken or the extents differ.
bool rename(const BoundStage& from, int a, const BoundStage& to, int b, Renaming& renaming);

}  // namespace kasimir
