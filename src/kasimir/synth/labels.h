// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/dependencies.h"
#include "kasimir/kernel/kernel.h"

#include <optional>

namespace kasimir {

/// What is true of a kernel before any training, found by evaluating its stages over the finite field (interp/field.h)
/// at small sites with stride 1: some of the input is replaced, the weights and stored statistics stay what they were,
/// and the outputs are compared. Nothing that cancels (x - x, a softmax over one channel) counts, unlike in analyse().
/// What was seen is true; what was not seen in `Labels::rounds` draws of weights and inputs is taken to be absent. The
/// field keeps the laws of functions of one value, but not that sums of squares are positive: what hangs on that (a
/// relu after a sum of absolute values) is not noticed.
struct Labels {
  static constexpr int rounds = 10;
  static constexpr int far = 12;

  /// As analyse(), on a map of 5 x 6; but `is_global` asks that an output changes with every position, on that map and
  /// as far as `far` rows and columns away: a large window is not global.
  View view;
  bool is_zero = false;           ///< the output is zero whatever the input and the weights are
  bool is_linear = false;         ///< f(x + y) - f(0) = f(x) - f(0) + f(y) - f(0), whatever the weights are
  bool has_data_weights = false;  ///< some stage multiplies two values that both change with the input
  /// A shifted input gives the shifted output. Borders are kept out of it: along height and width, each read outside
  /// the map is taken from the other side, so that the input can be shifted around and all outputs be compared.
  bool is_equivariant = false;
  bool is_independent_of_resolution = false;  ///< no weight's extent depends on height or width
  /// The first step that may be left out: the output is the same if its readers get one of its operands, which has its
  /// shape, instead of its result.
  std::optional<int> idle_step;
  int nonlinear_levels = 0;  ///< most steps on one path from input to output that are not linear in their operands
  int reach_rows = 0;        ///< largest distance at which an output changes with the input; `far`: that or more
  int reach_columns = 0;     ///< the same along the width
};

/// Labels that take longer than all the others together.
struct LabelCosts {
  bool reach = true;        ///< `reach_rows`, `reach_columns` and, where the small map is seen as a whole, `is_global`
  bool translation = true;  ///< `is_equivariant`
};

/// The stages at_small_site(), with twice the channels if an extent is 1 there that is more elsewhere: a softmax over
/// one channel would be constant. Rejected as at_small_site() rejects.
Outcome<BoundGraph> at_label_site(const Kernel& kernel);

/// `structural` is an upper limit, as analyse() gives one for the kernel: what it denies is not looked for, and where
/// all of it is seen, no more inputs are tried. What is not asked for is left as it is in an empty Labels. Rejected as
/// at_small_site() rejects.
Outcome<Labels> exact_labels(const Kernel& kernel, const View& structural, const LabelCosts& asked);
Outcome<Labels> exact_labels(const Kernel& kernel, const LabelCosts& asked = {});

}  // namespace kasimir
