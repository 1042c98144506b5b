// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/interp/field_tables.h"
#include "kasimir/kernel/stage.h"

#include <cstdint>
#include <vector>

/// What a FieldProgram does, as a list of array operations.
namespace kasimir {

/// An array while a program runs. `base` counts the operands; behind them come the scratch, the result and the plan's
/// own constants.
struct FieldPlace {
  std::uint16_t base = 0;
  std::uint32_t offset = 0;
  bool operator==(const FieldPlace&) const = default;
};

/// One array operation. The counts and `table` mean what the operation needs:
///   apply, inverse, rank, unrank  size
///   combine                       rows, length
///   sum, largest                  outer, reduced, inner
///   contract                      batch, m, k, n
///   gather                        size; out[i] = a[narrow[table + i]], or wide[..] if `is_wide`
///   rows                          rows, length, stride; FieldPlan::walks[table]
struct FieldStep {
  enum class Code : std::uint8_t { apply, inverse, rank, unrank, combine, sum, largest, contract, gather, rows };
  Code code = Code::rows;
  Fn fn = Fn::add;
  FieldRows rows_a = FieldRows::own;
  FieldRows rows_b = FieldRows::own;
  bool is_wide = false;
  FieldPlace a;
  FieldPlace b;
  FieldPlace out;
  std::uint32_t count[4] = {};
  std::uint32_t table = 0;
};

/// A weight or a stored statistic among the operands.
struct FieldWeight {
  std::size_t operand;  ///< index in FieldPlan::reads
  std::size_t size;
  std::uint64_t form;  ///< where it stands in the stage's expression, and its size
};

/// A read of an activation beside weights: the sum of operand[i] * factors[i] is what ties them. Behind the factors
/// lies field_slack.
struct FieldTie {
  std::size_t operand;
  FieldTables::Factors factors;
};

struct FieldPlan {
  std::vector<int> reads;  ///< tensors, in the order of their first read
  std::size_t size = 0;    ///< elements of the result
  std::vector<FieldStep> steps;
  std::vector<std::uint16_t> narrow;
  std::vector<std::uint32_t> wide;
  std::vector<FieldTables::Walk> walks;
  std::vector<std::uint32_t> constants;  ///< with field_slack
  std::size_t scratch = 0;               ///< elements
  std::vector<FieldWeight> weights;      ///< in order of definition
  std::vector<FieldTie> ties;
};

/// @pre the stage is one of the graph's, with fewer than 64 iterators and 2^32 elements.
FieldPlan plan_stage(const BoundGraph& graph, const BoundStage& stage, FieldTables& tables);

}  // namespace kasimir
