// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/architecture.h"
#include "kasimir/hardware/mapping.h"
#include "kasimir/hardware/problem.h"

#include <map>
#include <string>
#include <string_view>
#include <vector>

/// A subset of the YAML of Timeloop (Parashar et al., ISPASS 2019) and Accelergy (Wu et al., ICCAD 2019), version 0.4,
/// and problems of version 0.3. docs/accelerators.md lists the keys; any other is refused by name.
///
/// One file may hold `problem`, `architecture`, `mapping`, `variables` and `ERT` together; each reader takes its own.
namespace kasimir {

/// A text in a format that says less than what was written.
struct FormatText {
  std::string text;
  /// What the format has no word for, one line each; also written as comments at the head of the text.
  std::vector<std::string> lost;
};

/// A problem: `shape` with `dimensions`, `coefficients`, `data_spaces` (`data-spaces`), and `instance`; or
/// `shape: cnn-layer` with the sizes of C, M (or K), R, S, N, P, Q beside it. The data space that is read and written
/// is the output; a weight is one whose name says so (`weight`, `filter`, `w`, `w0`), else the second that is read. The
/// format has no bit widths: `bits` gives them. @throws Error (input) with file, line and column.
Problem parse_timeloop_problem(std::string_view text, const std::string& file, const OperandBits& bits = {});

/// Version 0.4. Zero padding is lost: it becomes part of the input.
FormatText timeloop_problem_text(const Problem& problem);

struct TimeloopMachine {
  Architecture architecture;
  /// Nodes with `spatial`: the level whose grid below they are.
  std::map<std::string, std::size_t> grids;
};

/// Nodes `!Component` (storage, then one compute unit), `!Container` and `!Parallel`, from outside inwards. Sizes are
/// `depth` times `width` bits, bandwidths words of `datawidth` bits per cycle, energies those of `ERT` (pJ for an
/// access of `block_size` words), the clock `global_cycle_seconds` of `variables`. `bypass` takes a role from what a
/// level keeps. Names of data spaces are those of `problem`.
/// @throws Error (input) with file, line and column.
TimeloopMachine parse_timeloop_architecture(std::string_view text, const std::string& file, const Problem& problem);

/// Version 0.4, with an ERT: energies are those of words of the widest operand that a level keeps.
FormatText timeloop_architecture_text(const Architecture& architecture, const Problem& problem);

/// Entries of type `temporal`, `spatial`, and `dataspace` (also `datatype`, `bypass`); a permutation begins with the
/// innermost loop, `split` counts its loops along x. The target of a spatial entry is a node with `spatial` or the
/// storage above it. @throws Error (input) with file, line and column.
Mapping parse_timeloop_mapping(std::string_view text, const std::string& file, const Problem& problem,
                               const TimeloopMachine& machine);

/// @throws Error (input) if a level has two loops over one dimension that are not side by side.
std::string timeloop_mapping_text(const Mapping& mapping, const Problem& problem, const Architecture& architecture);

/// The name that `timeloop_architecture_text` gives to the grid below a level.
std::string grid_name(const MemoryLevel& level);

}  // namespace kasimir
