// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/architecture.h"
#include "kasimir/hardware/mapping.h"
#include "kasimir/hardware/problem.h"

#include <array>
#include <cstdint>
#include <limits>

/// A problem on an architecture, laid out flat for the evaluator.
namespace kasimir {

/// How many elements a tile has along an axis whose coordinate is a sum of several terms.
enum class FootprintRule : std::uint8_t {
  exact,        ///< those that some point touches, for coordinates of one or two terms; the box for more
  bounding_box  ///< all between the first and the last (Timeloop), also those that a stride skips
};

/// What a tile that moves keeps of the elements that it already has.
enum class HaloRule : std::uint8_t {
  none,
  innermost,  ///< if the innermost loop above the storage moves it (Timeloop); loops over one dimension count as one
  full        ///< over all consecutive loops that move it, as a line buffer does
};

struct EvaluationOptions {
  FootprintRule footprint = FootprintRule::exact;
  HaloRule halo = HaloRule::innermost;
  bool first_fill_elided = true;  ///< a sum that begins is not fetched; Timeloop before version 4 counts it
  bool fill_and_drain = false;    ///< adds the time of the first tiles on their way in and the last on their way out
  bool whole_cycles = true;       ///< each level's time is rounded up, where the scalar can be
  /// 0: an irrelevant loop costs nothing while no relevant loop lies inside it. b > 0: it costs
  /// 1 + (bound - 1) * (1 - product over relevant loops inside of bound^-b), which has a slope and tends to the rule.
  /// Overlaps are then credited to each loop by itself.
  double softness = 0;
  /// Energy / time may not be more: the machine waits until it is so, and leaks meanwhile. A
  /// mapping within the limit costs what it costs without one.
  double max_power_mw = std::numeric_limits<double>::infinity();
  bool stop_at_violation = false;  ///< leaves counts and costs unfinished once something does not fit
  bool operator==(const EvaluationOptions&) const = default;
};

struct FlatTerm {
  std::int8_t dim = 0;
  double coefficient = 1;  ///< its absolute value
};

struct FlatRank {
  std::int8_t first = 0;  ///< term
  std::int8_t terms = 0;
  double extent = 1;
  double common = 1;  ///< greatest common divisor of the coefficients
};

/// What every tile needs comes first, in one line of the cache.
struct FlatOperand {
  std::uint32_t relevant = 0;  ///< dimensions that some coordinate depends on
  std::uint32_t sliding = 0;   ///< dimensions that share a coordinate with another
  std::int8_t plain_count = 0;
  std::int8_t rank_count = 0;
  std::int8_t bits = 8;
  std::int8_t partial_bits = 8;
  OperandRole role = OperandRole::input;
  std::array<std::int8_t, max_terms> plain{};  ///< dimensions that are an axis by themselves, and never clipped
  std::array<FlatRank, max_ranks> ranks{};     ///< the other axes
  std::array<FlatTerm, max_terms> terms{};
};

struct FlatLevel {
  double capacity = 0;
  std::array<double, 3> partition{};
  bool partitioned = false;
  std::array<double, 2> fan{};  ///< x, y
  std::array<bool, 2> multicast{};
  std::array<bool, 2> reduction{};
  std::array<std::uint32_t, 2> allowed{};  ///< dimensions whose loops may run across
  bool share_overlaps = false;
  int copies = 1;  ///< of each tile: 2 with double buffers
  bool single = false;
  Systolic systolic = Systolic::none;
  double skew = 0;  ///< cycles for each change of the stationary operand
  double cycles_per_bit = 0;
  double cycles_per_read_bit = 0;
  double cycles_per_write_bit = 0;
  double read_pj = 0;
  double write_pj = 0;
  double read_pj_per_bit = 0;
  double write_pj_per_bit = 0;
  double hop_pj_per_bit = 0;
};

/// What an evaluation needs to know of all mappings alike. Costs about a microsecond to make.
struct CostModel {
  /// @throws Error (input) if problem or architecture is not what the evaluator can hold, or leaks all the power that
  /// it may take.
  CostModel(Problem problem, Architecture architecture, const EvaluationOptions& options = {});

  Problem problem;
  Architecture architecture;
  EvaluationOptions options;

  int dims = 0;
  int operands = 0;
  int levels = 0;
  std::array<double, max_dims> size{};  ///< of each dimension
  std::array<FlatOperand, max_operands> operand{};
  std::array<FlatLevel, max_levels> level{};
  std::array<std::uint16_t, max_operands> keepable{};  ///< levels that can keep the operand
  MacCost mac;                                         ///< of a compute unit, at the widths of the problem
  double cycles_per_step = 1;                          ///< operations per point / operations per cycle
  double operation_pj = 0;                             ///< per point
  double leakage_pj_per_cycle = 0;
  double cycles_per_pj = 0;  ///< of energy without leakage, which the power limit asks for at least; 0: no limit
  double area_um2 = 0;
  double units = 1;
  bool hops = false;      ///< whether some fan-out costs energy
  bool overlaps = false;  ///< whether some fan-out reads overlaps once
};

/// The widest operand of a role; of the other role, or of the output, where nothing has it.
int bits_of(const Problem& problem, OperandRole role);

}  // namespace kasimir
