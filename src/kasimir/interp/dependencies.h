// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/interpreter.h"

#include <bitset>

namespace kasimir {

/// The input channels and the input positions that a value depends on, as sets. Structural: a branch that cancels
/// (x - x) still counts.
struct Dependencies {
  std::bitset<256> channels;
  std::bitset<256> positions;
};

struct DependencyDomain {
  using Value = Dependencies;
  [[nodiscard]] static Value zero() { return {}; }
  [[nodiscard]] static Value constant(const Constant& /*c*/) { return {}; }
  [[nodiscard]] static Value apply(Fn /*fn*/, const Value& a) { return a; }
  [[nodiscard]] static Value apply(Fn /*fn*/, const Value& a, const Value& b) {
    return {a.channels | b.channels, a.positions | b.positions};
  }
  [[nodiscard]] static Value scale(const Value& value, const Rational& /*factor*/, bool /*root*/) { return value; }
  [[nodiscard]] static bool stabiliser() { return true; }
};

/// What the outputs of a kernel see, at one small site. Statistics over the batch are left out: at inference they are
/// stored numbers. Outputs at the border of an image may see less than those inside (a shift brings in zeros): an
/// output channel is judged by its best position.
struct View {
  bool mixes_channels = false;      ///< every output channel depends on every input channel
  bool sees_neighbourhood = false;  ///< some output depends on a position other than its own
  bool sees_height = false;         ///< some output depends on another row
  bool sees_width = false;          ///< some output depends on another column
  bool is_global = false;           ///< some output depends on every position
  bool is_blind = false;            ///< some output channel does not depend on the input at all
};

/// @pre at most 256 input channels and 256 input positions, batch 1, stride 1.
View analyse(const BoundGraph& graph);

}  // namespace kasimir
