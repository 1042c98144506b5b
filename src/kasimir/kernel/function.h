// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace kasimir {

/// The closed table of scalar functions that a stage may apply. Every reader of stages visits it exhaustively, so that
/// the compiler names each reader that a new row concerns.
enum class Fn : std::uint8_t {
  add,
  sub,
  mul,
  div,   ///< by positive values only (the sum of a softmax)
  join,  ///< `a | b`: whichever is inside; operands with disjoint support, evaluates as a + b and costs nothing
  max,
  min,  ///< of two operands; at a tie the gradient is split evenly
  neg,
  abs,   ///< |x| has gradient 0 at 0
  relu,  ///< gradient 0 at 0
  exp,
  sqrt,
  rsqrt,
  sin,
  tanh,
  sigmoid,
  gelu,       ///< x * (1 + erf(x / sqrt 2)) / 2
  hardswish,  ///< x * min(max(x + 3, 0), 6) / 6
};
inline constexpr int fn_count = 18;

/// Laws that a function keeps for every argument: in reals, and in the finite field in which kernels are compared. All
/// but the last concern functions of one argument.
struct FnTraits {
  bool zero_to_zero = false;             ///< f(0) = 0
  bool nonnegative = false;              ///< f(x) >= 0
  bool odd = false;                      ///< f(-x) = -f(x)
  bool even = false;                     ///< f(-x) = f(x)
  bool idempotent = false;               ///< f(f(x)) = f(x)
  bool identity_on_nonnegative = false;  ///< f(x) = x for x >= 0
  bool keeps_magnitude = false;          ///< |f(x)| = |x|
  bool linear = false;                   ///< f(x + y) = f(x) + f(y), f(a * x) = a * f(x)
  bool commutative = false;              ///< f(a, b) = f(b, a)
};

struct FnInfo {
  std::string_view name;
  int arity;
  int ops;  ///< scalar operations that one application counts as, for costs; not a time
  FnTraits traits;
};

const FnInfo& fn_info(Fn fn);

}  // namespace kasimir
