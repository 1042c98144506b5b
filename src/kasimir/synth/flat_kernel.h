// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/step_table.h"

#include <compare>

namespace kasimir {

/// A tensor of a kernel that is being rewritten: the input, or what a step makes of its operands.
struct FlatNode {
  static constexpr StepId input = -1;

  StepId step;
  std::array<std::int16_t, 2> operands;  ///< earlier nodes; -1: none
  std::int16_t source;                   ///< the kernel's step that it came from
  // What rewriting may change of the step's facts.
  AxisMask free_in;
  AxisMask free_out;
  bool factorless;
  StepId in_from;   ///< the dense map whose operand is summed over; -1: several at once
  StepId out_from;  ///< the dense map whose result this one has
};

/// A kernel without any heap memory, for rewriting. Only the first `count` nodes have values.
struct FlatKernel {
  static constexpr int most_nodes = 63;  ///< one bit of 64 is left for the reader that the output has

  std::array<FlatNode, most_nodes> nodes;
  int count;
  int output;

  /// Only the input, which is the output.
  FlatKernel() : count(0), output(0) { add_input(); }  // NOLINT(cppcoreguidelines-pro-type-member-init): see above
  int add_input();
  int add(const StepTable& steps, StepId step, std::array<std::int16_t, 2> operands, std::int16_t source);
  [[nodiscard]] FlatNode& operator[](int node) { return nodes[static_cast<std::size_t>(node)]; }
  [[nodiscard]] const FlatNode& operator[](int node) const { return nodes[static_cast<std::size_t>(node)]; }
};

/// 128 bits that are equal for kernels with the same normal form, and for others by accident only.
struct Identity {
  std::uint64_t high = 0;
  std::uint64_t low = 0;
  auto operator<=>(const Identity&) const = default;
  [[nodiscard]] std::string str() const;  ///< 32 hexadecimal digits
};

/// Brings the nodes into an order that depends on what they compute only, not on the order in which they came, and
/// drops those that the output does not need.
void sort_nodes(const StepTable& steps, FlatKernel& kernel);

/// Hashes the list of nodes with the numbers of their operands, so that a tensor that is read twice differs from two
/// tensors with weights of their own. Free symbols count by the order of their first use. @pre sort_nodes().
Identity hash_nodes(const StepTable& steps, const FlatKernel& kernel);

}  // namespace kasimir
