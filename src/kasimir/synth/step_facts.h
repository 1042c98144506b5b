// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/primitive.h"
#include "kasimir/synth/step_form.h"

#include <memory>
#include <optional>
#include <string>

/// What one step of a kernel is, read off its stages: whoever rewrites kernels knows no primitive by name.
namespace kasimir {

enum class Trait : std::uint8_t {
  view,         ///< a copy: every element is one of the operand's, or zero
  nothing,      ///< a view that passes every axis on as it is
  permutation,  ///< a view that takes every element of the operand exactly once
  keeps_shape,  ///< a permutation after which every axis has the extent that it had
  fills_zeros,  ///< a view whose result may have zeros that the operand has not
  wraps,        ///< a view with a coordinate that is taken modulo the extent
  shrinks,      ///< a view whose result has fewer elements than the operand at some site

  pointwise,    ///< the same function of each element: one read in place, functions and constants
  combination,  ///< a function of two tensors' elements, without a reduction
  aligned,      ///< a combination of two operands with the same axes, each read in place
  commutative,  ///< an aligned combination whose operands may be exchanged
  scaling,      ///< each element times a weight that varies over some axes
  dense,        ///< sums of products of the operand with a weight
  plain,        ///< a dense map without groups and windows: a matrix over free axes, the same along all others
  fold,         ///< a reduction of the operand without weights
  has_factor,   ///< a fold with a factor, as a mean
  statistics,   ///< has a statistic over the batch
  weighted,     ///< has weights

  linear,                   ///< in its operands, taken together
  zero_to_zero,             ///< zero where all operands are zero
  nonnegative,              ///< whatever the operands are
  keeps_nonnegative,        ///< nonnegative if the operands are
  odd,                      ///< pointwise: f(-x) = -f(x)
  even,                     ///< pointwise: f(-x) = f(x)
  idempotent,               ///< pointwise: f(f(x)) = f(x)
  identity_on_nonnegative,  ///< pointwise: f(x) = x for x >= 0
  keeps_magnitude,          ///< pointwise: |f(x)| = |x|
  sign,                     ///< pointwise, linear and keeps the magnitude: f(x) = -x
  sums_to_one,              ///< over `sum_axes`

  absorbs_before,  ///< a constant factor of the operand can go into the weights
  absorbs_after,   ///< a constant factor of the result can go into the weights
};
inline constexpr int trait_count = static_cast<int>(Trait::absorbs_after) + 1;
std::string_view trait_name(Trait trait);

/// What one application of a primitive to operands of known shapes is.
struct StepFacts {
  std::uint64_t traits = 0;
  std::uint8_t operands = 1;
  Reduce reduce = Reduce::none;  ///< of a fold

  // Axes that are not simply passed on from the operands (`in`) to the result (`out`). Along all others the step does
  // the same everywhere, so that it commutes with what works on those others only.
  AxisMask in = 0;
  AxisMask out = 0;
  AxisMask free_in = 0;      ///< dense, fold: summed over on their own, so that their elements may be permuted
  AxisMask free_out = 0;     ///< dense: axes of the result that come from the weight alone
  AxisMask scaled = 0;       ///< scaling: axes along which the weight varies
  AxisMask absorbs_in = 0;   ///< a factor that varies along these axes of the operand can go into the weights
  AxisMask absorbs_out = 0;  ///< the same after the step, along axes of the result
  AxisMask sum_axes = 0;     ///< sums_to_one

  // The identity of the step, apart from its operands: axes that are passed on do not count, nor do `free_in` axes
  // beyond their kinds, which the operand decides.
  Form form;        ///< all but the free axes
  Form factorless;  ///< the same without a fold's factor
  Form result;      ///< dense: the axes `free_out` with their extents

  Size in_volume;   ///< dense: product of the extents of `free_in`
  Size out_volume;  ///< dense: product of the extents of `free_out`

  /// A view's only stage with the axes of its operand, to be composed with others.
  struct View {
    Stage stage;
    std::vector<BasicAxis<Symbolic>> operand;
  };
  std::shared_ptr<const View> copies;

  [[nodiscard]] bool is(Trait trait) const { return ((traits >> static_cast<unsigned>(trait)) & 1U) != 0; }
  void set(Trait trait, bool on = true) {
    if (on) traits |= std::uint64_t{1} << static_cast<unsigned>(trait);
  }
  [[nodiscard]] AxisMask touched() const { return in | out; }
};

/// Traits by name, then the sets of axes that are not empty: "view permutation in=c out=gc".
std::string str(const StepFacts& facts);

/// The stages of one call on operands of its shapes.
Graph one_step_graph(const Call& call);

/// Reads the facts off stages. @pre the graph's tensors of role input are the operands in order, and its last stage
/// defines the result.
StepFacts step_facts(const Graph& graph, const SiteSet& sites);

}  // namespace kasimir
