// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "kasimir/hardware/search/search.h"

#include <functional>
#include <string>
#include <vector>

/// Searches for accelerators: numbers of an architecture together with the mappings of a whole network on it.
namespace kasimir {

/// A number of an architecture that a search may set.
enum class KnobKind : std::uint8_t { columns, rows, capacity, bandwidth, partition };

struct ArchitectureKnob {
  KnobKind kind = KnobKind::columns;
  std::size_t level = 0;
  OperandRole role = OperandRole::input;  ///< of a partition
  std::vector<double> values;             ///< children, bit, or bit per cycle
};
/// "columns of scratchpad", "capacity of sram for weights".
std::string str(const ArchitectureKnob& knob, const Architecture& architecture);

/// The architecture with one value for each knob. @throws Error (input) if a knob does not apply.
Architecture with_knobs(const Architecture& base, const std::vector<ArchitectureKnob>& knobs,
                        const std::vector<double>& values);

/// What a design may take.
struct DesignBudget {
  double area_um2 = Goal::unlimited;
  double dsp = Goal::unlimited;  ///< blocks of all compute units, at the widest operands of the network
  double lut = Goal::unlimited;
};

/// One architecture with mappings of all layers.
struct DesignPoint {
  std::vector<double> values;  ///< of the knobs
  double cycles = 0;           ///< of the network
  double energy_pj = 0;
  double area_um2 = 0;
  double dsp = 0;
  double lut = 0;
  std::vector<Mapping> mappings;  ///< of each layer
};

struct DesignProgress {
  std::size_t done = 0;
  std::size_t designs = 0;
  double best = Goal::unlimited;
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
/// network is mapped for the least cycles, the least energy and the goal. Deterministic for a seed; whenever it is
/// stopped, the answer is the best so far with what is proved.
/// @throws Error (input) without layers, for a knob that does not apply, or for more than 100,000 designs.
DesignAnswer search_architecture(const std::vector<Problem>& layers, const Architecture& base,
                                 const std::vector<ArchitectureKnob>& knobs, const EvaluationOptions& evaluation,
                                 const DesignOptions& options);

}  // namespace kasimir
