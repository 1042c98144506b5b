// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/search.h"

#include <functional>
#include <string>
#include <string_view>
#include <vector>

/// Searches for accelerators: numbers of an architecture together with the mappings of a whole network on it.
namespace kasimir {

/// A number of an architecture that a search may set.
enum class KnobKind : std::uint8_t { columns, rows, capacity, bandwidth, read_bandwidth, write_bandwidth, partition };

struct ArchitectureKnob {
  KnobKind kind = KnobKind::columns;
  std::size_t level = 0;
  OperandRole role = OperandRole::input;  ///< of a partition
  std::vector<double> values;             ///< children, bit, or bit per cycle
};
/// "columns of scratchpad", "capacity of sram for weights".
std::string str(const ArchitectureKnob& knob, const Architecture& architecture);
/// "16", "64 KiB", "128 bit/cycle".
std::string value_text(const ArchitectureKnob& knob, double value);

/// Reads "scratchpad.capacity=64..256 KiB": level and number as architecture files name them (capacity,
/// capacity_input, capacity_weight, capacity_output, bandwidth, read_bandwidth, write_bandwidth) or `columns` and
/// `rows` of the grid below; then values with commas, `..` doubles from the first to the last, and the last unit is
/// also that of numbers without one. @throws Error (input) that names what is wrong, with near names.
ArchitectureKnob parse_knob(std::string_view text, const Architecture& architecture);

/// Reads TOML with a table `[vary]` of such names and values: "scratchpad.capacity" = "64..256 KiB", or a list.
/// @throws Error (input) with file and line.
std::vector<ArchitectureKnob> parse_knobs(std::string_view text, const std::string& file,
                                          const Architecture& architecture);

/// The architecture with one value for each knob. @throws Error (input) if a knob does not apply.
Architecture with_knobs(const Architecture& base, const std::vector<ArchitectureKnob>& knobs,
                        const std::vector<double>& values);

/// What a design may take. The limit on power is EvaluationOptions::max_power_mw.
struct DesignBudget {
  double area_um2 = Goal::unlimited;
  double dsp = Goal::unlimited;  ///< blocks of all compute units, at the widest operands of the network
  double lut = Goal::unlimited;
  double bram18 = Goal::unlimited;  ///< of levels that are made of them
};

/// One architecture with mappings of all layers.
struct DesignPoint {
  std::vector<double> values;  ///< of the knobs
  double cycles = 0;           ///< of the network
  double energy_pj = 0;
  double power_mw = 0;  ///< mean over the network
  double area_um2 = 0;
  double dsp = 0;
  double lut = 0;
  double bram18 = 0;
  Goal aim;                         ///< what its mappings make small
  double gap = 0;                   ///< proved: no mappings on this architecture are better in that by more
  std::vector<Mapping> mappings;    ///< of each layer
  std::vector<double> mapping_gap;  ///< of each layer, in the question that found it
};

struct DesignProgress {
  std::size_t done = 0;
  std::size_t designs = 0;
  double best = Goal::unlimited;
  std::uint64_t evaluations = 0;
};

struct DesignOptions {
  SearchOptions mapping;  ///< the goal of the network and the budget of each mapping search; `seconds` is for all
  DesignBudget budget;
  std::string engine = "branch_and_bound";
  std::function<void(const DesignProgress&)> progress;
};

struct DesignAnswer {
  bool found = false;
  DesignPoint best;  ///< of the goal, within its limits
  double value = Goal::unlimited;
  double lower_bound = 0;          ///< proved: no design within the budget is better
  double least_cycles = 0;         ///< proved: none is faster
  double least_energy_pj = 0;      ///< proved: none needs less
  std::vector<DesignPoint> front;  ///< none beats another in cycles, energy and area; by growing cycles
  std::size_t designs = 0;         ///< values of knobs, multiplied
  std::size_t over_budget = 0;
  std::size_t beaten = 0;    ///< not searched: a point of the front is better than their bounds in all three
  std::size_t searched = 0;  ///< networks were mapped on them
  bool complete = false;     ///< all designs were searched, beaten or over the budget
  std::uint64_t evaluations = 0;
  double seconds = 0;
  std::string misfit;  ///< if not found: what kills most designs, and the nearest one
  [[nodiscard]] double gap() const { return lower_bound > 0 ? value / lower_bound - 1 : Goal::unlimited; }
};

/// Goes through all values of the knobs, the most promising bounds first. On each design that may still matter, the
/// network is mapped for the goal, the least cycles and the least energy. Deterministic for a seed without a limit in
/// seconds; whenever it is stopped, the answer is the best so far with what is proved.
/// @throws Error (input) without layers, for a knob that does not apply, or for more than 100,000 designs.
DesignAnswer search_architecture(const std::vector<Problem>& layers, const Architecture& base,
                                 const std::vector<ArchitectureKnob>& knobs, const EvaluationOptions& evaluation,
                                 const DesignOptions& options);

}  // namespace kasimir
