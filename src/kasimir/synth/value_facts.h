// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/kernel/stage.h"

#include <vector>

namespace kasimir {

/// How a value answers to the sign of the operands.
enum class Parity : std::uint8_t { none, odd, even };
/// How a value depends on the operands, taken together: not at all, linearly, or in another way.
enum class Degree : std::uint8_t { constant, linear, other };

/// What is known of a value whatever the weights are.
struct ValueFacts {
  bool zero = false;
  bool nonnegative = false;
  Parity parity = Parity::none;
  Degree degree = Degree::other;
};

/// What is known of the tensor that a stage defines, from what is known of every tensor that it reads; `tensors` is
/// indexed by tensor.
ValueFacts value_facts(const Stage& stage, const std::vector<ValueFacts>& tensors);

}  // namespace kasimir
