// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/base/rng.h"
#include "kasimir/interp/interpreter.h"

namespace kasimir {

/// Numbers in double precision.
struct RealDomain {
  using Value = double;
  [[nodiscard]] static double zero() { return 0.0; }
  [[nodiscard]] static double constant(const Constant& c);
  [[nodiscard]] static double apply(Fn fn, double a);
  [[nodiscard]] static double apply(Fn fn, double a, double b);
  [[nodiscard]] static double scale(double value, const Rational& factor, bool root);
  [[nodiscard]] static bool stabiliser() { return true; }
};

/// A number and its derivative along one direction: exact directional derivatives, without differences.
struct Dual {
  double value = 0.0;
  double slope = 0.0;
};
struct DualDomain {
  using Value = Dual;
  [[nodiscard]] static Dual zero() { return {}; }
  [[nodiscard]] static Dual constant(const Constant& c) { return {RealDomain::constant(c), 0.0}; }
  [[nodiscard]] static Dual apply(Fn fn, Dual a);
  [[nodiscard]] static Dual apply(Fn fn, Dual a, Dual b);
  /// The maximum; at a tie the mean of all the ties' slopes.
  [[nodiscard]] static Dual largest(const std::vector<Dual>& values);
  [[nodiscard]] static Dual scale(Dual value, const Rational& factor, bool root);
  [[nodiscard]] static bool stabiliser() { return true; }
};

/// Random values for the input and the weights, for comparisons: normal by role (WeightRole), scales and offsets near
/// their start values. Tensors that stages define, and stored statistics, stay empty.
TensorValues<double> random_values(const BoundGraph& graph, Rng& rng);

}  // namespace kasimir
