// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/synth/growth.h"

#include <vector>

namespace kasimir {

/// A kernel that is being edited: steps without shapes, which need not be legal. Tensors are numbered as in Kernel.
struct Sketch {
  struct Step {
    int primitive;
    ArgumentsId arguments;                 ///< as they are written
    std::array<std::int16_t, 2> operands;  ///< tensor numbers; -1: none
    bool operator==(const Step&) const = default;
  };
  std::vector<Step> steps;
  int output = 0;

  Sketch() = default;
  Sketch(const World& world, std::span<const GrownStep> grown);

  /// Puts steps behind the first `at`: their results are tensors at + 1, ..; who reads later tensors is renumbered.
  /// @pre their operands are numbered so already
  void insert(int at, std::span<const Step> more);
  /// Step `from` - 1 and later ones, and the output, read `to` in place of the tensor.
  void redirect(int tensor, int to, int from = 1);
  /// Leaves out what the output does not depend on.
  void drop_unread();
  /// Puts the values in place of free symbols in every step, one after the other.
  void substitute(World& world, std::span<const Substitution> by);
  /// Free symbols become x0, x1, .. in the order of their first use. Returns how many there are.
  int number_symbols(World& world);
};

/// How far a kernel may be from its sketch.
struct RepairLimits {
  int most_lost = 2;   ///< steps that are left out, because they are no longer legal or read what is left out
  int most_grown = 3;  ///< steps that lead to the output from what is then there
};

/// Grows the kernel of the sketch, repaired where it must be and can be. Returns `no_id`, or the rule of the growth's
/// world that stands against it.
std::int32_t grow(Growth& growth, Sketch sketch, int choice, const RepairLimits& repair, Rng& rng);

}  // namespace kasimir
