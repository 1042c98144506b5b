// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/nest/nest.h"

#include <vector>

/// Where tensors of generated C lie in memory. Activations are stored with height and width outside and channels
/// innermost (NHWC), with a ring of stored zeros as wide as the widest read beyond the map, so that no read needs a
/// test. Weights are stored as the graph declares them, row-major.
namespace kasimir {

/// The smallest multiple of `to` that is at least `value`.
constexpr std::int64_t round_up(std::int64_t value, std::int64_t to) { return (value + to - 1) / to * to; }

/// How a value is stored: as a float, or as one byte. Codes of weights are floats in the prepared weights, of
/// activations bytes where they fit.
struct Element {
  bool bytes = false;    ///< code + zero
  bool rounded = false;  ///< whole numbers from `lowest` to `highest`; bytes are
  int zero = 0;          ///< the byte of code 0
  int lowest = 0;
  int highest = 0;
  bool operator==(const Element&) const = default;
};

/// In elements.
struct TensorLayout {
  Element element;
  std::vector<std::int64_t> strides;  ///< per axis
  std::vector<std::int64_t> low;      ///< per axis: zeros stored before the first element
  std::vector<std::int64_t> high;     ///< per axis: zeros stored after the last
  std::int64_t origin = 0;            ///< of element 0, 0, .. from the start of the buffer
  std::int64_t size = 0;              ///< of the buffer
  [[nodiscard]] bool ringed() const;
  [[nodiscard]] std::int64_t floats() const;  ///< of the buffer: 4 bytes each
};

/// How far a nest reads beyond the map of a tensor: along one axis.
struct Overhang {
  int tensor;
  std::size_t axis;
  std::int64_t low;
  std::int64_t high;
};

/// Where the activations' memory lies in the workspace. Buffers are shared among tensors that do not live at the same
/// time: any where there is no ring, those of equal shape where there is one, because a ring is zeroed once only.
struct MemoryPlan {
  std::vector<TensorLayout> layouts;  ///< per tensor
  std::vector<std::int64_t> place;    ///< per activation: the start of its buffer; -1 for all else
  std::int64_t size = 0;              ///< of the workspace
  struct Fill {
    std::int64_t place;
    std::int64_t floats;
    int byte;
  };
  std::vector<Fill> fills;  ///< rings that are not of bytes 0
};

/// Rings reach as far as reads along height and width do, up to this; reads that go further are tested.
inline constexpr std::int64_t widest_ring = 16;

/// `more` are overhangs beside those of the reads themselves (Winograd tiles that end behind the map).
MemoryPlan plan_memory(const NestProgram& program, const std::vector<Overhang>& more);

}  // namespace kasimir
