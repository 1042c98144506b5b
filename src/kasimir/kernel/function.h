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

struct FnInfo {
  std::string_view name;
  int arity;
  int ops;  ///< scalar operations that one application counts as, for costs; not a time
};

const FnInfo& fn_info(Fn fn);

}  // namespace kasimir
