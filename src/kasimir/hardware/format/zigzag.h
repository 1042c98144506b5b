// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/problem.h"

#include <string>
#include <string_view>
#include <vector>

namespace kasimir {

/// A layer of a workload, by the name that it has there.
struct NamedProblem {
  std::string name;
  Problem problem;
  bool operator==(const NamedProblem&) const = default;
};

/// Reads a workload of ZigZag (Mei et al., TC 2021), a YAML list of layers: `equation`
/// (`O[b][k][oy][ox]+=W[k][c][fy][fx]*I[b][c][iy][ix]`), `dimension_relations` (`ix=2*ox+1*fx`), `loop_dims` with
/// `loop_sizes`, `operand_precision` (O: of partial sums, O_final: of results), `pr_loop_dims` with `pr_loop_sizes`
/// (elements along an index that relations define) and `padding` (zeros before and after, in that order). W is the
/// weight, or else the second operand. What links layers and has no part in a cost (`id`, `operator_type`,
/// `operand_source`, `constant_operands`) is passed over; any other key is refused by name.
/// @throws Error (input) with file, line and column.
std::vector<NamedProblem> parse_zigzag_workload(std::string_view text, const std::string& file);

}  // namespace kasimir
