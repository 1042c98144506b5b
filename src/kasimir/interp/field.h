// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/interpreter.h"

#include <compare>
#include <string>

namespace kasimir {

/// The finite field of p = 2^31 - 1 elements (p mod 4 = 3): exact arithmetic without rounding, in which equal functions
/// give equal values. Sums, products, factors and constants are exact; |x| is the quadratic character times x, so that
/// its laws hold; transcendental functions are fixed random functions with the parity and sign of the real ones.
struct FieldDomain {
  using Value = std::uint32_t;
  static constexpr std::uint64_t prime = 2147483647;

  [[nodiscard]] static Value zero() { return 0; }
  [[nodiscard]] static Value constant(const Constant& c);
  [[nodiscard]] static Value apply(Fn fn, Value a);
  [[nodiscard]] static Value apply(Fn fn, Value a, Value b);
  [[nodiscard]] static Value scale(Value value, const Rational& factor, bool root);
  /// Any value gives the same softmax in reals; here the keyed exponential needs a fixed one.
  [[nodiscard]] static bool stabiliser() { return false; }
};

/// 124 bits that equal functions share, and that two different ones share by accident only.
struct Fingerprint {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Fingerprint&) const = default;
  [[nodiscard]] std::string str() const;  ///< 32 hexadecimal digits
};

/// The seed of all fingerprints that are compared: any fixed number, so that a function meets itself in every run.
inline constexpr std::uint64_t fingerprint_seed = 20230415;

/// A hash of what the graph computes at inference: of the output over the field at random inputs, weights and stored
/// statistics (those of a batch would hide what a normalisation of a single number was given). Weights and statistics
/// are drawn from the values that they are used with (WeightTies in fingerprint.h): equal functions meet, unless they
/// name two weights of equal use in another order.
Fingerprint fingerprint(const BoundGraph& graph, std::uint64_t seed);

}  // namespace kasimir
