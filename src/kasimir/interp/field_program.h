// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/field_plan.h"

#include <span>

namespace kasimir {

/// Memory for programs while they run; grows to the largest and stays.
class FieldScratch {
 public:
  std::uint32_t* room(std::size_t size) {
    if (memory_.size() < size) memory_.resize(size);
    return memory_.data();
  }

 private:
  std::vector<std::uint32_t> memory_;
};

/// Elements of memory that an array of `size` elements of the field takes. The element behind the last is 0, what
/// follows is of no account.
constexpr std::size_t field_room(std::size_t size) { return size + field_slack; }

/// One bound stage, prepared to be run often: gives what evaluate() gives over FieldDomain, element for element, over a
/// hundred times faster. A pure function of the tensors that the stage reads; may be run by many threads at once.
class FieldProgram {
 public:
  /// `graph` gives the extents of the tensors; `tables` what programs share.
  FieldProgram(const BoundGraph& graph, const BoundStage& stage, FieldTables& tables,
               const FieldVector& vector = field_vector())
      : plan_(plan_stage(graph, stage, tables)), vector_(&vector) {}
  /// With tables of its own.
  FieldProgram(const BoundGraph& graph, const BoundStage& stage, const FieldVector& vector = field_vector());

  /// The tensors read, each once, in the order of the operands.
  [[nodiscard]] const std::vector<int>& reads() const { return plan_.reads; }
  /// Elements of the result.
  [[nodiscard]] std::size_t size() const { return plan_.size; }

  /// `operands` are the values of reads(), row-major, and `out` receives size() values. All arrays have field_room();
  /// `out` is none of the operands. Allocates nothing once `scratch` has grown.
  void run(std::span<const std::uint32_t* const> operands, std::uint32_t* out, FieldScratch& scratch) const;

  /// The weights and stored statistics among the operands, in order of definition.
  [[nodiscard]] const std::vector<FieldWeight>& weights() const { return plan_.weights; }
  /// What weights()[i] is tied to: see fingerprint.h. Needs the operands that are no weights only; takes the hash that
  /// hash_operands() gives for all weights of the stage.
  [[nodiscard]] std::uint64_t weight_key(std::size_t i, std::uint64_t operands) const;
  [[nodiscard]] std::uint64_t hash_operands(std::span<const std::uint32_t* const> operands) const;

  /// Bytes of memory, for caches; without what it may share.
  [[nodiscard]] std::size_t bytes() const;

 private:
  FieldPlan plan_;
  const FieldVector* vector_;
};

}  // namespace kasimir
