// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/fingerprint.h"

#include <span>
#include <vector>

namespace kasimir {

/// A kernel's stages at inference, evaluated over the finite field: once as they are, then again and again with some
/// tensor's values replaced, while weights and stored statistics stay what they were.
class Poked {
 public:
  using Values = std::span<const std::uint32_t>;  ///< row-major, of memory with field_room()

  /// A tensor and the values that it gets, of memory with field_room() that lives as long as the run.
  struct Change {
    int tensor;
    const std::uint32_t* values;
  };

  /// @pre at most 2^32 elements per tensor.
  explicit Poked(const BoundGraph& training);

  /// Draws the input, all weights and all statistics anew and evaluates all stages. An even input has the same values
  /// at every position.
  void draw(std::uint64_t seed, bool even_input = false);

  [[nodiscard]] const BoundGraph& graph() const { return graph_; }
  [[nodiscard]] std::size_t size(int tensor) const;
  /// As drawn.
  [[nodiscard]] Values values(int tensor) const;
  [[nodiscard]] Values output() const { return values(graph_.output); }

  /// The values of `wanted` after the changes, by the stages [first, last): nothing else is computed again. Valid until
  /// the next run.
  Values run(std::span<const Change> changes, std::size_t first, std::size_t last, int wanted);
  /// The output after the changes.
  Values run(std::span<const Change> changes);
  /// Whether the last run gave the tensor other values than were drawn.
  [[nodiscard]] bool moved(int tensor) const { return moved_[static_cast<std::size_t>(tensor)]; }

 private:
  std::vector<std::uint32_t>& room(std::vector<std::vector<std::uint32_t>>& in, int tensor);
  void operands_of(const FieldProgram& program, const std::vector<const std::uint32_t*>& from);

  BoundGraph graph_;
  std::vector<FieldProgram> programs_;
  std::vector<std::vector<std::uint32_t>> drawn_, changed_;
  std::vector<const std::uint32_t*> now_;
  std::vector<bool> moved_;
  std::vector<const std::uint32_t*> operands_;
  FieldScratch scratch_;
};

}  // namespace kasimir
