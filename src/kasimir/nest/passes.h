// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <span>
#include <string_view>

namespace kasimir {

/// Weights and stored statistics, and what stages compute from nothing else: known before any image is seen.
std::vector<bool> weight_only(const BoundGraph& graph);

/// Ends the names of tensors that lift_functions adds, behind the name of the function's result.
inline constexpr std::string_view lifted_suffix = ".lifted";

/// A function of one tensor behind views of it is computed before the views: `relu(unfold(x))` becomes
/// `unfold(relu(x))`, so that the unfold can be read in place. Only where the function keeps zero at zero or no read
/// leaves the tensor, and where the views do not drop elements.
BoundGraph lift_functions(const BoundGraph& graph);

/// What depends on weights only is a tensor of its own, computed once; what is linear in an activation is brought to
/// the form `a * x + b` with such tensors. A batch norm becomes a scale and an offset, a scale before a product joins
/// its weights.
BoundGraph fold_weights(const BoundGraph& graph);

/// Stages without reduction are substituted into their only reader where that repeats no work: chains of element-wise
/// stages become one, a fold reads the expression itself, and a scale by weights moves into the product that reads it.
BoundGraph fuse_pointwise(const BoundGraph& graph);

/// A pass over stages that keeps what a graph computes (up to rounding).
struct Pass {
  std::string_view name;
  std::string_view brief;
  BoundGraph (*run)(const BoundGraph& graph);
};

/// The passes before scheduling, in the order in which they run.
std::span<const Pass> passes();

/// All of them, one after another.
BoundGraph simplify(const BoundGraph& graph);

}  // namespace kasimir
