// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/problem.h"

#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// Architectures: memories from the outermost inwards, each feeding a grid of the next, and compute units at the end.
namespace kasimir {

/// Sizes of the flat arrays of the evaluator.
inline constexpr int max_levels = 12;

/// A set of operand roles: bit `1 << role`.
using RoleSet = std::uint8_t;
constexpr RoleSet role_bit(OperandRole role) { return static_cast<RoleSet>(1U << static_cast<unsigned>(role)); }
inline constexpr RoleSet all_roles = 7;

/// How a level's own traffic and the work below it overlap.
enum class Buffering : std::uint8_t {
  overlapped,  ///< the next tile arrives while the last one is in use, in space that is counted once (Timeloop)
  doubled,     ///< the same with two buffers: each tile takes its space twice
  single       ///< a tile arrives while nothing runs: the time of fills and write-backs is added
};

/// One direction of the grid below a level.
struct FanOut {
  std::int64_t size = 1;  ///< children side by side
  bool multicast = true;  ///< a word for several children is read once; otherwise once for each
  bool reduction = true;  ///< partial sums of the children are added on their way; otherwise each is written
  RoleSet shares = 0;     ///< loops that run across must leave one of these roles alone; none: any loop may
  bool operator==(const FanOut&) const = default;
};

/// What happens when the stationary operand of a systolic array below a level changes (SCALE-Sim, arXiv 1811.02883):
/// rows + columns - 2 cycles for the skew of what streams, and `rows` more to load an operand that is not a result.
enum class Systolic : std::uint8_t { none, input, weight, output };

struct MemoryLevel {
  static constexpr double unbounded = std::numeric_limits<double>::infinity();

  std::string name;
  double capacity_bits = unbounded;                                       ///< of an instance, for all that it keeps
  std::array<double, 3> partition_bits{unbounded, unbounded, unbounded};  ///< the part of each role
  double bandwidth = unbounded;        ///< bit per cycle and instance, reads and writes together
  double read_bandwidth = unbounded;   ///< bit per cycle and instance
  double write_bandwidth = unbounded;  ///< bit per cycle and instance
  double read_pj = 0;                  ///< per element that is read
  double write_pj = 0;                 ///< per element that is written
  double access_pj_per_kib = 0;        ///< added to both for each KiB of capacity
  double read_pj_per_bit = 0;
  double write_pj_per_bit = 0;
  double hop_pj_per_bit = 0;    ///< for each bit that one child receives or sends
  double leakage_mw = 0;        ///< of an instance
  double area_um2 = 0;          ///< of an instance
  double area_um2_per_kib = 0;  ///< added for each KiB of capacity
  RoleSet keeps = all_roles;    ///< what can be kept here; a mapping may let more of it pass by
  Buffering buffering = Buffering::overlapped;
  FanOut x;                     ///< columns of the grid below
  FanOut y;                     ///< rows
  bool share_overlaps = false;  ///< words that neighbours' windows have in common are read once (diagonals)
  Systolic systolic = Systolic::none;
  bool block_ram = false;                      ///< made of an FPGA's block RAMs of 18 Kb
  std::string source;                          ///< where the numbers come from
  std::map<std::string, std::string> sources;  ///< of single numbers, by key, where they differ

  [[nodiscard]] std::int64_t fan_out() const { return x.size * y.size; }
  bool operator==(const MemoryLevel&) const = default;
};

/// How a compute unit handles operands narrower or wider than it was made for (Stripes, MICRO 2016; Loom, DAC 2018; Bit
/// Fusion, ISCA 2018; Xilinx WP486 and WP487 for DSP packing; FINN-R, TRETS 2018, for LUT).
enum class MacEngine : std::uint8_t { fixed, bit_serial, bit_serial_both, bit_fusion, dsp48, dsp58, lut };

/// One line of a table that replaces the formulas for a pair of bit widths.
struct PrecisionEntry {
  int input_bits = 8;
  int weight_bits = 8;
  double operations_per_cycle = 1;
  double energy_pj = 0;
  double area_um2 = 0;
  bool operator==(const PrecisionEntry&) const = default;
};

struct ComputeUnit {
  MacEngine engine = MacEngine::fixed;
  int input_bits = 8;  ///< width that the numbers below hold for
  int weight_bits = 8;
  double operations_per_cycle = 1;  ///< of one unit, at that width
  double energy_pj = 0;             ///< per operation, at that width
  bool gates_operands = false;      ///< narrower operands cost input * weight bits of the full energy (fixed only)
  double area_um2 = 0;              ///< of one unit
  double leakage_mw = 0;            ///< of one unit
  std::vector<PrecisionEntry> table;
  std::string source;
  std::map<std::string, std::string> sources;

  bool operator==(const ComputeUnit&) const = default;
};

/// What a compute unit does with one pair of bit widths.
struct MacCost {
  double operations_per_cycle = 1;
  double energy_pj = 0;  ///< per operation
  double area_um2 = 0;   ///< of a unit that is made for this pair and nothing wider
  double dsp = 0;        ///< DSP blocks of a unit
  double lut = 0;        ///< LUT of a unit that is made for this pair
};

/// The formulas of `MacEngine`, or the entry of the table.
MacCost mac_cost(const ComputeUnit& unit, int input_bits, int weight_bits);

struct Architecture {
  std::string name;
  double clock_mhz = 1000;
  std::vector<MemoryLevel> levels;  ///< outermost first
  ComputeUnit compute;
  std::string source;
  std::map<std::string, std::string> sources;

  /// Compute units: the product of all fan-outs.
  [[nodiscard]] double units() const;
  /// Instances of a level: the product of the fan-outs above it.
  [[nodiscard]] double instances(std::size_t level) const;
  /// Of all levels and compute units.
  [[nodiscard]] double area_um2() const;
  [[nodiscard]] double leakage_mw() const;
  /// Block RAMs of 18 Kb (`bram18_count`) of all levels that are made of them. An instance has one memory, or one for
  /// each role that has a part of its own; it is as wide as its fastest port, and as deep as its bits then need.
  [[nodiscard]] double bram18() const;
  /// Index of the level, or -1.
  [[nodiscard]] int find_level(std::string_view level) const;
  bool operator==(const Architecture&) const = default;
};

/// Energy of one element's read or write, apart from what goes by bit: base and share of the capacity.
double access_pj(const MemoryLevel& level, double base);

/// @throws Error (input) if a number is negative, a name is missing or there twice, or a level keeps nothing that the
/// outermost level must keep.
void check_architecture(const Architecture& architecture);

/// Reads TOML. Numbers with a unit are texts ("64 KiB", "16 B/cycle", "0.49 pJ"); counts are plain. A table's `source`
/// covers its numbers; one with another source is written { value = "...", source = "..." }. The files
/// in hardware/presets show how it looks. `file` is for messages.
/// @throws Error (input) with file, line and column: unknown keys by name, numbers without unit or source.
Architecture parse_architecture(std::string_view toml, const std::string& file);

/// TOML that `parse_architecture` reads back to an equal architecture.
std::string to_toml(const Architecture& architecture);

/// Names of the presets that come with the program, in alphabetical order.
std::vector<std::string> preset_names();

/// @throws Error (input) with the nearest names if there is no such preset.
Architecture preset(std::string_view name);

}  // namespace kasimir
